//! What a kernel reads, and where each of it is bound.

use burn::tensor::{DType, Shape};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::{AddressType, ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::tensor_vector_size_parallel;

use super::super::super::Held;
use super::plan::Place;
use crate::kernel::Reach;

/// What a kernel reads, and how.
pub(super) struct Read<'a> {
    pub(super) scalars: &'a [f64],
    /// Every one with its reach, in rows of contiguous numbers.
    pub(super) inputs: Vec<(Held<CubeTensor>, Reach)>,
    pub(super) dtype: DType,
    /// Whether results may overwrite inputs that nobody else holds.
    pub(super) in_place: bool,
}

/// The input in a layout that threads can read.
pub(super) fn readable(input: Held<CubeTensor>) -> Held<CubeTensor> {
    match input {
        Held::Matrix(x) => Held::Matrix(rows_together(x)),
        Held::Product(factors) => Held::Product(factors.map(into_contiguous)),
    }
}

/// Rows of contiguous numbers, at any distance.
fn rows_together(x: CubeTensor) -> CubeTensor {
    let (shape, strides) = (x.meta.shape(), x.meta.strides());
    let within = strides[1] == 1 || shape[1] == 1;
    let between = strides[0] >= shape[1] || shape[0] == 1;
    if within && between {
        x
    } else {
        into_contiguous(x)
    }
}

impl Read<'_> {
    /// A tensor that lies where the results are to lie.
    pub(super) fn any(&self) -> &CubeTensor {
        match &self.inputs[0].0 {
            Held::Matrix(x) | Held::Product([x, _]) => x,
        }
    }

    /// Where every input is bound.
    pub(super) fn places(&self) -> Vec<Place> {
        let (mut wide, mut half, mut narrow) = (0, 0, 0);
        let next = |count: &mut usize| {
            *count += 1;
            *count - 1
        };
        let places = self.inputs.iter().map(|(x, reach)| match x {
            Held::Product(_) => Place::Product {
                left: next(&mut narrow),
                right: next(&mut wide),
            },
            Held::Matrix(_) if !reach.has_columns() => Place::Narrow(next(&mut narrow)),
            Held::Matrix(x) if x.dtype == self.dtype => Place::Wide(next(&mut wide)),
            Held::Matrix(_) => Place::Half(next(&mut half)),
        });
        places.collect()
    }

    /// The tensors that are read a vector at a time, with the axis along which they are.
    pub(super) fn wide(&self) -> impl Iterator<Item = (&CubeTensor, usize)> {
        self.inputs.iter().filter_map(|(x, reach)| match x {
            Held::Product([_, right]) => Some((right, 2)),
            Held::Matrix(x) => reach.has_columns().then_some((x, 1)),
        })
    }

    /// The dtypes of the computation and of inputs in half precision.
    pub(super) fn types(&self) -> [ElemType; 2] {
        let float = match self.dtype {
            DType::F64 => ElemType::Float(FloatKind::F64),
            _ => ElemType::Float(FloatKind::F32),
        };
        let half = self.wide().find_map(|(x, _)| match x.dtype {
            DType::F16 => Some(ElemType::Float(FloatKind::F16)),
            DType::BF16 => Some(ElemType::Float(FloatKind::BF16)),
            _ => None,
        });
        [float, half.unwrap_or(float)]
    }

    pub(super) fn bits(&self) -> u32 {
        if self.dtype == DType::F64 { 64 } else { 32 }
    }

    /// How many columns are read at once: as many as every input and output allows.
    pub(super) fn vector(&self, size: usize) -> usize {
        let client = &self.any().client;
        let inputs = self.wide().map(|(x, axis)| {
            tensor_vector_size_parallel(
                client.io_optimized_vector_sizes(x.dtype.size()),
                x.meta.shape(),
                x.meta.strides(),
                axis,
            )
        });
        let outputs = client
            .io_optimized_vector_sizes(self.dtype.size())
            .filter(|n| size.is_multiple_of(*n))
            .max();
        inputs.chain(outputs).min().unwrap_or(1)
    }

    /// The inputs in the order of their places.
    pub(super) fn bind<W, L, S>(&self) -> (SequenceArg<W>, SequenceArg<L>, SequenceArg<S>)
    where
        W: LaunchArg<RuntimeArg = TensorArg>,
        L: LaunchArg<RuntimeArg = TensorArg>,
        S: LaunchArg<RuntimeArg = TensorArg>,
    {
        let (mut wide, mut half) = (SequenceArg::new(), SequenceArg::new());
        let mut narrow = SequenceArg::new();
        for ((x, _), place) in self.inputs.iter().zip(self.places()) {
            let arg = |x: &CubeTensor| x.clone().into_tensor_arg();
            match (x, place) {
                (Held::Matrix(x), Place::Wide(_)) => wide.push(arg(x)),
                (Held::Matrix(x), Place::Half(_)) => half.push(arg(x)),
                (Held::Matrix(x), _) => narrow.push(arg(x)),
                (Held::Product([left, right]), _) => {
                    narrow.push(arg(left));
                    wide.push(arg(right));
                }
            }
        }
        (wide, half, narrow)
    }

    pub(super) fn numbers(&self) -> SequenceArg<InputScalar> {
        let [float, _] = self.types();
        self.scalars
            .iter()
            .map(|&x| InputScalar::new(x, float))
            .collect()
    }

    pub(super) fn address_type(&self, outputs: &[CubeTensor]) -> AddressType {
        let inputs = self.inputs.iter().cloned().flat_map(|(x, _)| x.into_vec());
        let inputs = inputs.map(|x| x.required_address_type());
        let outputs = outputs.iter().map(CubeTensor::required_address_type);
        inputs.chain(outputs).max().unwrap_or_default()
    }

    /// Rows `[1, P]` that nobody else holds, with their positions among what is bound. A thread reads its columns of them before it writes
    /// any.
    pub(super) fn free(&self) -> Vec<(CubeTensor, usize)> {
        let places = self.inputs.iter().zip(self.places());
        let free = places.filter_map(|((x, reach), place)| match (x, place) {
            (Held::Matrix(x), Place::Wide(at)) if *reach == Reach::Row => {
                (x.can_mut() && x.is_contiguous_buffer()).then(|| (x.clone(), at))
            }
            _ => None,
        });
        free.collect()
    }

    pub(super) fn empty(&self, shape: [usize; 2]) -> CubeTensor {
        let like = self.any();
        empty_device_contiguous_dtype(
            like.client.clone(),
            like.device.clone(),
            Shape::new(shape),
            self.dtype,
        )
    }
}
