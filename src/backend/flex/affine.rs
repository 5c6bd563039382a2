//! The backward pass of a scale and a shift: one pass over the gradient and the input, the examples in parallel.

use bytemuck::Pod;
use num_traits::Float;

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Element, Flex, TensorMetadata};
use burn::tensor::{DType, Shape, TensorData};
use burn_flex::FlexTensor;
use rayon::prelude::*;

use super::super::ops::BackwardOps;

impl BackwardOps for Flex {
    fn affine_backward(
        d: FloatTensor<Self>,
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
    ) -> [FloatTensor<Self>; 3] {
        match x.dtype() {
            DType::F64 => typed::<f64>(&d, &x, &scale),
            DType::F32 => typed::<f32>(&d, &x, &scale),
            // Half precision is summed in f32, and the sums stay so.
            narrow => {
                let wide = |x| Self::float_cast(x, DType::F32.into());
                let [dx, scales, shifts] = typed::<f32>(&wide(d), &wide(x), &wide(scale));
                [Self::float_cast(dx, narrow.into()), scales, shifts]
            }
        }
    }
}

/// How many partial sums run side by side, so that they fill a vector register.
const LANES: usize = 16;

fn typed<E: Element + Float + Pod>(
    d: &FlexTensor,
    x: &FlexTensor,
    scale: &FlexTensor,
) -> [FlexTensor; 3] {
    let shape = x.shape();
    let (examples, size) = (shape[0], shape[1] * shape[2]);
    let last = scale.shape()[1] == 1;
    let features = if last { shape[2] } else { shape[1] };
    let (d, x, scale) = (d.to_contiguous(), x.to_contiguous(), scale.to_contiguous());
    let (d, x, scale) = (d.storage::<E>(), x.storage::<E>(), scale.storage::<E>());
    let mut dx = vec![E::zero(); examples * size];
    let mut scales = vec![E::zero(); examples * features];
    let mut shifts = vec![E::zero(); examples * features];
    if size > 0 {
        let rows = dx.par_chunks_mut(size);
        let sums = scales
            .par_chunks_mut(features)
            .zip(shifts.par_chunks_mut(features));
        let inputs = d.par_chunks(size).zip(x.par_chunks(size));
        rows.zip(sums).zip(inputs).for_each(|((dx, sums), (d, x))| {
            if last {
                by_rows(dx, sums, d, x, scale);
            } else {
                by_columns(dx, sums, d, x, scale);
            }
        });
    }
    let tensor =
        |values: Vec<E>, shape: Shape| FlexTensor::from_data(TensorData::new(values, shape));
    [
        tensor(dx, shape),
        tensor(scales, Shape::new([examples, features])),
        tensor(shifts, Shape::new([examples, features])),
    ]
}

/// One example `[T, F]`.
fn by_rows<E: Float>(
    dx: &mut [E],
    (scales, shifts): (&mut [E], &mut [E]),
    d: &[E],
    x: &[E],
    scale: &[E],
) {
    let features = scale.len();
    let rows = dx.chunks_exact_mut(features);
    let inputs = d.chunks_exact(features).zip(x.chunks_exact(features));
    for (dx, (d, x)) in rows.zip(inputs) {
        for at in 0..features {
            dx[at] = d[at] * scale[at];
            scales[at] = scales[at] + d[at] * x[at];
            shifts[at] = shifts[at] + d[at];
        }
    }
}

/// One example `[F, T]`.
fn by_columns<E: Float>(
    dx: &mut [E],
    (scales, shifts): (&mut [E], &mut [E]),
    d: &[E],
    x: &[E],
    scale: &[E],
) {
    let tokens = d.len() / scale.len();
    for (at, &scale) in scale.iter().enumerate() {
        let part = at * tokens..(at + 1) * tokens;
        let (dx, d, x) = (&mut dx[part.clone()], &d[part.clone()], &x[part]);
        let (mut products, mut sums) = ([E::zero(); LANES], [E::zero(); LANES]);
        for start in (0..tokens).step_by(LANES) {
            let end = (start + LANES).min(tokens);
            for (lane, at) in (start..end).enumerate() {
                dx[at] = d[at] * scale;
                products[lane] = products[lane] + d[at] * x[at];
                sums[lane] = sums[lane] + d[at];
            }
        }
        let total = |lanes: [E; LANES]| lanes.into_iter().fold(E::zero(), |a, b| a + b);
        (scales[at], shifts[at]) = (total(products), total(sums));
    }
}
