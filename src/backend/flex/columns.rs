//! The windows of a convolution as columns, by one copy of each element.

use std::ops::Range;

use burn::backend::{Element, TensorMetadata};
use burn::tensor::{DType, Shape, TensorData};
use burn_flex::FlexTensor;
use bytemuck::Pod;
use rayon::prelude::*;

use crate::nn::Windows;

/// `[B, C, H, W] -> [B, C kh kw, T]`.
pub(crate) fn run(x: &FlexTensor, windows: &Windows) -> Option<FlexTensor> {
    match x.dtype() {
        DType::F32 => Some(typed::<f32>(x, windows)),
        DType::F64 => Some(typed::<f64>(x, windows)),
        _ => None,
    }
}

fn typed<E: Element + Pod + Default + Send + Sync>(
    x: &FlexTensor,
    windows: &Windows,
) -> FlexTensor {
    let shape = x.shape();
    let [examples, channels, height, width] = [shape[0], shape[1], shape[2], shape[3]];
    let [kernel_rows, kernel_columns] = windows.kernel;
    let [rows, columns] = windows.count;
    let (places, tokens) = (kernel_rows * kernel_columns, rows * columns);
    let x = x.to_contiguous();
    let x = x.storage::<E>();
    let mut out = vec![E::default(); examples * channels * places * tokens];
    let image = height * width;
    let planes = out.par_chunks_mut((places * tokens).max(1)).enumerate();
    planes.for_each(|(plane, out)| {
        let x = &x[plane * image..(plane + 1) * image];
        for (place, out) in out.chunks_exact_mut(tokens).enumerate() {
            let (i, j) = (place / kernel_columns, place % kernel_columns);
            // Column `c` of the windows reads pixel `first + c * stride`, where that is inside.
            let (first, inside) = reach(windows, 1, j, width);
            for (row, out) in out.chunks_exact_mut(columns).enumerate() {
                let y = i * windows.dilation[0] + row * windows.stride[0];
                let Some(y) = y.checked_sub(windows.padding[0].0).filter(|y| *y < height) else {
                    continue;
                };
                let line = &x[y * width..(y + 1) * width];
                for column in inside.clone() {
                    let at = (column * windows.stride[1]).wrapping_add_signed(first);
                    out[column] = line[at];
                }
            }
        }
    });
    let shape = Shape::new([examples, channels * places, tokens]);
    FlexTensor::from_data(TensorData::new(out, shape))
}

/// Where a place of the kernel lies along an axis: the pixel of window 0, and the windows whose pixel is not in the padding.
fn reach(windows: &Windows, axis: usize, place: usize, size: usize) -> (isize, Range<usize>) {
    let signed = |x: usize| isize::try_from(x).expect("sizes of images");
    let stride = windows.stride[axis];
    let first = signed(place * windows.dilation[axis]) - signed(windows.padding[axis].0);
    let start = usize::try_from(-first).map_or(0, |before| before.div_ceil(stride));
    let end = usize::try_from(signed(size) - first).map_or(0, |left| left.div_ceil(stride));
    (first, start..end.min(windows.count[axis]).max(start))
}
