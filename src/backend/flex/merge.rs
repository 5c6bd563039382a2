//! Repeated rows of a gather leaf added up at their first use.

use std::collections::HashMap;

use burn::backend::TensorMetadata;
use burn::tensor::{DType, TensorData};
use burn_flex::FlexTensor;
use bytemuck::Pod;
use num_traits::Float;
use rayon::prelude::*;

/// Of `ids [B, T]` and `d [B, T, D]`: `[B, T, D]` with the sum of each row at its first use in the example, and zeros at the others.
pub(crate) fn run(ids: &FlexTensor, d: &FlexTensor) -> Option<FlexTensor> {
    let ids = ids.to_contiguous();
    let ids: Vec<i64> = match ids.dtype() {
        DType::I64 => ids.storage::<i64>().to_vec(),
        DType::I32 => ids.storage::<i32>().iter().map(|&id| id.into()).collect(),
        _ => return None,
    };
    match d.dtype() {
        DType::F32 => Some(typed::<f32>(&ids, d)),
        DType::F64 => Some(typed::<f64>(&ids, d)),
        _ => None,
    }
}

fn typed<E: burn::backend::Element + Float + Pod + Send + Sync>(
    ids: &[i64],
    d: &FlexTensor,
) -> FlexTensor {
    let shape = d.shape();
    let (tokens, width) = (shape[1], shape[2]);
    let d = d.to_contiguous();
    let mut out = d.storage::<E>().to_vec();
    let examples = out.par_chunks_mut((tokens * width).max(1));
    examples
        .zip(ids.par_chunks(tokens.max(1)))
        .for_each(|(d, ids)| {
            let mut first: HashMap<i64, usize> = HashMap::with_capacity(tokens);
            for (at, &id) in ids.iter().enumerate() {
                let place = *first.entry(id).or_insert(at);
                if place < at {
                    let (before, here) = d.split_at_mut(at * width);
                    let sum = &mut before[place * width..(place + 1) * width];
                    for (sum, x) in sum.iter_mut().zip(&mut here[..width]) {
                        *sum = *sum + *x;
                        *x = E::zero();
                    }
                }
            }
        });
    FlexTensor::from_data(TensorData::new(out, shape))
}
