//! Reductions of values in factors.

use burn::tensor::{DType, Int, Tensor};
use pergrad_transforms::program::{Binary, Fold, Reduction};

use super::super::ops::{Matrix, binary_right};
use super::super::reduce;
use super::super::settings::NormMethod;
use super::{Factors, Kept};
use crate::grads::form::{Form, add_rows};

impl Factors {
    /// `[B, P] -> [1, P]`.
    pub(in super::super) fn over_examples(self: Box<Self>, reduction: Reduction) -> Kept<Matrix> {
        #[allow(clippy::cast_precision_loss)] // batches are below 2^53
        let divisor = match reduction {
            Reduction::Sum => 1.0,
            Reduction::Mean => self.form.examples() as f64,
            _ => return Err(self),
        };
        if self.squared {
            return Err(self);
        }
        let size = self.form.size();
        // The mean is taken of the factor, which is smaller than the product.
        let this = match divisor {
            1.0 => self,
            _ => self.map_right(|x| x.div_scalar(divisor)),
        };
        let sum = match this.form {
            Form::Outer { left, right } => {
                let [examples, tokens, rows] = left.dims();
                let left = left.reshape([examples * tokens, rows]);
                let columns = right.dims()[2];
                let right = right.reshape([examples * tokens, columns]);
                left.transpose().matmul(right).reshape([1, size])
            }
            Form::Gather { ids, d, rows } => {
                let [examples, tokens, width] = d.dims();
                let ids = ids.reshape([examples * tokens]);
                let d = d.reshape([examples * tokens, width]);
                add_rows(rows, ids, d).reshape([1, size])
            }
            other => reduce::over_examples(Reduction::Sum, other.into_dense()),
        };
        Ok(match this.weights {
            Some(weights) => sum * weights,
            None => sum,
        })
    }

    /// `[B, P] -> [B, 1]`.
    pub(in super::super) fn over_elements(
        self: Box<Self>,
        fold: Fold,
        method: NormMethod,
    ) -> Kept<Matrix> {
        let examples = self.form.examples();
        match (&self.form, fold) {
            (Form::Outer { left, right }, Fold::Sum) if self.squared => {
                if self.weights.is_some() {
                    return Err(self);
                }
                ghost(left, right, method).ok_or(self)
            }
            (Form::Outer { left, right }, Fold::Sum) => {
                let sums = match &self.weights {
                    None => left.clone().sum_dim(2) * right.clone().sum_dim(2),
                    Some(weights) => {
                        let [_, tokens, rows] = left.dims();
                        let columns = right.dims()[2];
                        let weights = weights.clone().reshape([rows, columns]);
                        let left = left.clone().reshape([examples * tokens, rows]);
                        let left = left.matmul(weights);
                        let products = left * right.clone().reshape([examples * tokens, columns]);
                        reduce::over_elements(fold, products).reshape([examples, tokens, 1])
                    }
                };
                Ok(sums.sum_dim(1).reshape([examples, 1]))
            }
            // Zeros change neither a sum nor the largest of numbers that are not negative.
            (Form::Gather { d, .. }, fold) if fold == Fold::Sum || self.merged => {
                let [_, tokens, width] = d.dims();
                let d = d.clone().reshape([examples, tokens * width]);
                Ok(reduce::over_elements(fold, d))
            }
            _ => Err(self),
        }
    }

    /// `[B, P] -> [B, B]`: the products of every two examples, where those of every two tokens take less than the values in full.
    pub(in super::super) fn gram(self: Box<Self>) -> Kept<Matrix> {
        let [examples, size] = self.dims();
        let tokens = self.form.tokens();
        let smaller = 2 * examples * tokens * tokens <= size;
        // As for the ghost norm: the products of tokens that cancel do too.
        let wide = tokens == 1 || self.form.device().supports_dtype(DType::F64);
        if self.squared || self.weights.is_some() || !smaller || !wide {
            return Err(self);
        }
        let dtype = self.dtype();
        let count = examples * tokens;
        let products = |x: &Tensor<3>| {
            let x: Matrix = x.clone().reshape([count, x.dims()[2]]);
            let x = if tokens == 1 { x } else { x.cast(DType::F64) };
            x.clone().matmul(x.transpose())
        };
        let products = match &self.form {
            Form::Outer { left, right } => products(left) * products(right),
            Form::Gather { ids, d, .. } => {
                let row: Tensor<2, Int> = ids.clone().reshape([count, 1]);
                let column: Tensor<2, Int> = ids.clone().reshape([1, count]);
                let shape = [count, count];
                let different = row.expand(shape).not_equal(column.expand(shape));
                products(d).mask_fill(different, 0.0)
            }
            _ => return Err(self),
        };
        let products = products.reshape([examples, tokens, count]).sum_dim(1);
        let products = products.reshape([examples, examples, tokens]).sum_dim(2);
        Ok(products.reshape([examples, examples]).cast(dtype))
    }
}

/// The ghost norm `sum_lr (sum_t left[b,t,l] right[b,t,r])^2`, `[B, 1]`, where it is chosen and the device can.
fn ghost(left: &Tensor<3>, right: &Tensor<3>, method: NormMethod) -> Option<Matrix> {
    let [examples, tokens, rows] = left.dims();
    let columns = right.dims()[2];
    let chosen = match method {
        NormMethod::Auto => NormMethod::ghost_is_smaller(tokens, rows, columns),
        NormMethod::Ghost => true,
        NormMethod::Simultaneous => false,
    };
    // Where tokens cancel, the products do too: in f32 the sum would be rounding alone, and might be negative.
    if !chosen || !right.device().supports_dtype(DType::F64) {
        return None;
    }
    let (dtype, left, right) = (
        right.dtype(),
        left.clone().cast(DType::F64),
        right.clone().cast(DType::F64),
    );
    let left = left.clone().matmul(left.swap_dims(1, 2));
    let right = right.clone().matmul(right.swap_dims(1, 2));
    let products = (left * right).reshape([examples, tokens * tokens]);
    let sum = reduce::over_elements(Fold::Sum, products);
    Some(binary_right(Binary::Max, sum, 0.0).cast(dtype))
}
