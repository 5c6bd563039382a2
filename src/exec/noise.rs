//! The random numbers of a program, made by the host in f64 and rounded: the same on every device and from every executor.

use burn::tensor::{DType, Device, TensorData};
use pergrad_transforms::program::Stream;
use pergrad_transforms::random::fill_normals;
use rayon::prelude::*;

use super::ops::Matrix;

/// How many numbers are made at once: with a logarithm, a sine and a root for each two, enough to pay for a thread.
const AT_ONCE: usize = 1 << 13;

/// The standard normal numbers of a stream for a leaf, `[1, size]`, where its link has taken `count` steps before.
pub(super) fn normals(
    stream: &Stream,
    count: u64,
    leaf: usize,
    size: usize,
    dtype: DType,
    device: &Device,
) -> Matrix {
    let mut numbers = vec![0.0; size];
    let parts = numbers.par_chunks_mut(AT_ONCE).enumerate();
    parts.for_each(|(at, part)| fill_normals(&stream.key, count, leaf, at * AT_ONCE, part));
    let data = TensorData::new(numbers, [1, size]).convert_dtype(dtype);
    Matrix::from_data(data, (device, dtype))
}
