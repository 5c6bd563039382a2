//! The windows of a convolution as columns, and the gradient of its weight from them.
//!
//! burn's `unfold4d` is a convolution with one-hot weights: it costs `(C k)^2` products for each window, spreads a NaN or an
//! infinity of one pixel over its whole window (`0 * inf`) and rounds where convolutions round (TF32). Here the windows are copied
//! by strided slices, one for each place of the kernel.

use burn::tensor::ops::PadMode;
use burn::tensor::{Slice, Tensor};

use crate::backend;
use crate::grads::form::Form;

/// Where the windows of a convolution lie, in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    /// Before and after.
    pub(crate) padding: [(usize, usize); 2],
    /// The number of windows.
    pub(crate) count: [usize; 2],
}

impl Windows {
    /// `[B, C, H, W] -> [B, C kh kw, T]`, without autodiff.
    pub(super) fn columns(&self, x: Tensor<4>) -> Tensor<3> {
        let x = x.inner();
        if let Some(columns) = backend::columns(&x, self) {
            return columns;
        }
        let [examples, channels, ..] = x.dims();
        let [rows, columns] = self.count;
        let x = if self.padding == [(0, 0); 2] {
            x
        } else {
            x.pad(self.padding, PadMode::Constant(0.0))
        };
        let along = |axis: usize, at: usize| {
            let start = at * self.dilation[axis];
            let last = start + (self.count[axis] - 1) * self.stride[axis];
            Slice::new(
                start as isize,
                Some(last as isize + 1),
                self.stride[axis] as isize,
            )
        };
        let places = (0..self.kernel[0]).flat_map(|i| (0..self.kernel[1]).map(move |j| (i, j)));
        let places: Vec<Tensor<4>> = places
            .map(|(i, j)| {
                let window = [Slice::full(), Slice::full(), along(0, i), along(1, j)];
                let window = x.clone().slice(window);
                window.reshape([examples, channels, 1, rows * columns])
            })
            .collect();
        let size = channels * places.len();
        Tensor::cat(places, 2).reshape([examples, size, rows * columns])
    }
}

/// burn's `Same` padding of one axis: before and after, the odd one after. It does not look at the dilation.
pub(super) fn same_padding(size: usize, kernel: usize, stride: usize) -> (usize, usize) {
    let windows = size.div_ceil(stride);
    let total = (windows.saturating_sub(1) * stride + kernel).saturating_sub(size);
    let total = if windows == 0 { 0 } else { total };
    (total / 2, total - total / 2)
}

/// The gradient of a weight `[R, C / groups]` from `rows [B, R, T]` and `columns [B, C, T]`: of row r with the columns of its group.
///
/// In one group it is held as factors. In several, every row has columns of its own, so the examples are multiplied out: a dense
/// leaf, `groups` times smaller than the product of all rows and columns.
pub(super) fn weight_gradient(rows: Tensor<3>, columns: Tensor<3>, groups: usize) -> Form {
    if groups == 1 {
        return Form::Outer {
            left: rows.swap_dims(1, 2),
            right: columns.swap_dims(1, 2),
        };
    }
    let [examples, r, tokens] = rows.dims();
    let c = columns.dims()[1];
    let rows = rows.reshape([examples, groups, r / groups, tokens]);
    let columns = columns.reshape([examples, groups, c / groups, tokens]);
    let g = rows.matmul(columns.swap_dims(2, 3));
    Form::Dense(g.reshape([examples, r * (c / groups)]))
}
