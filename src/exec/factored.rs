//! Per-example values in factors: what can be said of them exactly without ever making `[B, L, R]`.
//!
//! The gradients of an outer leaf are `x_b = sum_t left[b,t] (x) right[b,t]`, those of a gather leaf add rows into a table. Such a
//! value stays in factors as long as the program only
//!
//! | operation | on factors | source |
//! |--|--|--|
//! | scales each example, or all, by a number | scales `right` | Goodfellow, arXiv 1510.01799 |
//! | takes `sign`, `abs` or the square, outer with T = 1 | takes it of both factors, which is exact: they are multiplicative | arXiv 2510.00236 |
//! | takes `sign`, `abs` or the square, gather | adds repeated ids of an example up, then takes it of what is left | arXiv 2510.00236 |
//! | sums or averages over the examples | one matrix product | |
//! | sums the squares of each example's elements | `norm(left)^2 norm(right)^2` if T = 1; `sum (left left^T) * (right right^T)` (ghost) if `2 T^2 <= L R`; else `left^T right` per example | arXiv 1510.01799, 2411.00999 |
//! | drops examples | zeros both factors | |
//!
//! Two limits follow from that. A row that an example does not use stays 0, also where the example is weighted by NaN or
//! infinity. And a square is taken of each factor, so in f32 each factor's elements, not only their product, must lie between 1e-19
//! and 1.8e19 in size.
//!
//! Everything else makes the value dense. With T > 1 the product of `sign(left)` and `sign(right)` is the statistic over tokens, not
//! over examples, so it is never taken.

use burn::tensor::{DType, Int, Tensor};
use pergrad_transforms::program::{Binary, Fold, Reduction, Unary};

use super::ops::{Mask, Matrix, rounds_to_zero};
use super::reduce;
use crate::grads::form::{Form, add_rows};

/// A per-example value in factors.
#[derive(Clone)]
pub(super) struct Factors {
    form: Form,
    /// The value is the element-wise square of what the form says; only outer leaves with T > 1.
    squared: bool,
    /// No row of a gather leaf is used twice by one example, but for rows of zeros.
    merged: bool,
}

/// What an operation on factors gives. It lives for one operation, so its size does not matter.
#[allow(clippy::large_enum_variant)]
pub(super) enum Value {
    Factors(Box<Factors>),
    Dense(Matrix),
}

impl Value {
    fn factors(factors: Factors) -> Self {
        Self::Factors(Box::new(factors))
    }
}

/// The gradients of a leaf for computing in `dtype`: in factors where that is smaller than in full.
pub(super) fn read(form: Form, dtype: DType) -> Value {
    let form = form.cast(dtype);
    let tokens = form.tokens();
    let stays = match &form {
        Form::Outer { left, right } => {
            let (rows, columns) = (left.dims()[2], right.dims()[2]);
            tokens * (rows + columns) < rows * columns
        }
        Form::Gather { d, rows, .. } => tokens < *rows && d.dims()[2] > 0,
        _ => false,
    };
    if stays && tokens > 0 && form.examples() > 0 {
        Value::factors(Factors {
            form,
            squared: false,
            merged: tokens == 1,
        })
    } else {
        Value::Dense(form.into_dense())
    }
}

impl Factors {
    pub(super) fn into_dense(self) -> Matrix {
        let dense = self.form.into_dense();
        if self.squared {
            dense.clone() * dense
        } else {
            dense
        }
    }

    fn map_right(self, f: impl FnOnce(Tensor<3>) -> Tensor<3>) -> Self {
        let form = match self.form {
            Form::Outer { left, right } => Form::Outer {
                left,
                right: f(right),
            },
            Form::Gather { ids, d, rows } => Form::Gather { ids, d: f(d), rows },
            other => other,
        };
        Self { form, ..self }
    }

    fn map_both(self, f: impl Fn(Tensor<3>) -> Tensor<3>) -> Self {
        let form = match self.form {
            Form::Outer { left, right } => Form::Outer {
                left: f(left),
                right: f(right),
            },
            Form::Gather { ids, d, rows } => Form::Gather { ids, d: f(d), rows },
            other => other,
        };
        Self { form, ..self }
    }

    pub(super) fn unary(self, f: Unary) -> Value {
        let this = match f {
            Unary::Square | Unary::Abs | Unary::Sign => self.merge(),
            _ => self,
        };
        let one_use = this.form.tokens() == 1 || this.is_gather();
        match f {
            Unary::Neg if !this.squared => Value::factors(this.map_right(|x| x.neg())),
            Unary::Square if one_use => Value::factors(this.map_both(|x| x.clone() * x)),
            Unary::Abs | Unary::Sign if one_use => {
                // The sign of an outer product is the product of the signs, but for 0 times infinity: it is NaN, and
                // `0 * sign(inf)` would be 0. So an infinity becomes NaN here, and shows.
                let shows = f == Unary::Sign && !this.is_gather();
                Value::factors(this.map_both(|x| {
                    let dims = x.dims();
                    let flat = x.clone().reshape([dims[0], dims[1] * dims[2]]);
                    let y = super::ops::unary(f, flat).reshape(dims);
                    if shows { y + (x.clone() - x) } else { y }
                }))
            }
            Unary::Square if !this.squared => Value::factors(Self {
                squared: true,
                ..this
            }),
            _ => Value::Dense(super::ops::unary(f, this.into_dense())),
        }
    }

    fn is_gather(&self) -> bool {
        matches!(self.form, Form::Gather { .. })
    }

    /// A gather leaf whose repeated rows are added up at their first use, with zeros at the others: a function that keeps 0 can then
    /// be taken of each use, and the squares of the uses add up to the square of the norm.
    fn merge(self) -> Self {
        let Form::Gather { ids, d, rows } = self.form else {
            return self;
        };
        if self.merged {
            let form = Form::Gather { ids, d, rows };
            return Self { form, ..self };
        }
        let [examples, tokens] = ids.dims();
        let shape = [examples, tokens, tokens];
        let row: Tensor<3, Int> = ids.clone().reshape([examples, tokens, 1]);
        let column: Tensor<3, Int> = ids.clone().reshape([examples, 1, tokens]);
        let different = row.expand(shape).not_equal(column.expand(shape));
        // For each use, the first use of the same row. By index and not by a product, so that a NaN stays in its row.
        let last = tokens as i64;
        let uses = Tensor::<1, Int>::arange(0..last, &ids.device());
        let uses: Tensor<3, Int> = uses.reshape([1, 1, tokens]).expand(shape);
        let first = uses.mask_fill(different, last).min_dim(2);
        let example = Tensor::<1, Int>::arange(0..examples as i64, &ids.device());
        let example: Tensor<3, Int> = example.mul_scalar(last).reshape([examples, 1, 1]);
        let first = (first + example).reshape([examples * tokens]);
        let width = d.dims()[2];
        let d = d.reshape([examples * tokens, width]);
        let d = add_rows(examples * tokens, first, d).reshape([examples, tokens, width]);
        Self {
            form: Form::Gather { ids, d, rows },
            merged: true,
            ..self
        }
    }

    /// Multiplied or divided by a number of the host.
    pub(super) fn binary_right(self, f: Binary, c: f64) -> Value {
        match f {
            Binary::Mul if !self.squared => Value::factors(self.map_right(|x| x.mul_scalar(c))),
            Binary::Div if !self.squared => Value::factors(self.map_right(|x| x.div_scalar(c))),
            // A number that rounds to 0 goes the dense way, which looks at it.
            Binary::DivOrZero if !self.squared && !rounds_to_zero(c, self.form.dtype()) => {
                Value::factors(self.map_right(|x| x.div_scalar(c)))
            }
            _ => Value::Dense(super::ops::binary_right(f, self.into_dense(), c)),
        }
    }

    /// Multiplied or divided by one number for each example, `[B, 1]` or `[1, 1]`.
    pub(super) fn scale(self, f: Binary, weights: Matrix) -> Value {
        let per_example = weights.dims()[1] == 1;
        if self.squared || !per_example {
            return Value::Dense(super::ops::binary(f, self.into_dense(), weights));
        }
        let column = |w: Matrix| {
            let rows = w.dims()[0];
            w.reshape([rows, 1, 1])
        };
        match f {
            Binary::Mul => Value::factors(self.map_right(|x| x * column(weights))),
            Binary::Div => Value::factors(self.map_right(|x| x / column(weights))),
            // Whether a sum of several outer products is zero, its factors do not tell.
            Binary::DivOrZero if self.form.tokens() > 1 && !self.is_gather() => {
                Value::Dense(super::ops::binary(f, self.into_dense(), weights))
            }
            Binary::DivOrZero => {
                let this = self.merge();
                // 0 / 0 is 0 for an example of zeros; anything else divided by 0 is infinite, and shows.
                let nothing = this.is_zero().bool_and(super::ops::expand(
                    weights.clone().equal_elem(0.0),
                    [this.form.examples(), 1],
                ));
                let kept = this.map_right(|x| x / column(weights));
                Value::factors(kept.keep(nothing.bool_not()))
            }
            _ => Value::Dense(super::ops::binary(f, self.into_dense(), weights)),
        }
    }

    /// The examples, `[B, 1]`, of which one of the factors is all zeros.
    fn is_zero(&self) -> Mask {
        let all_zero = |x: &Tensor<3>| {
            let [examples, tokens, width] = x.dims();
            let x = x.clone().reshape([examples, tokens * width]);
            x.equal_elem(0.0).all_dim(1)
        };
        match &self.form {
            Form::Outer { left, right } => all_zero(left).bool_or(all_zero(right)),
            Form::Gather { d, .. } => all_zero(d),
            other => other.clone().into_dense().equal_elem(0.0).all_dim(1),
        }
    }

    /// The examples of the mask `[B, 1]`, and zeros in place of the others, whatever they are.
    pub(super) fn keep(self, mask: Mask) -> Self {
        let rows = mask.dims()[0];
        let drop: Tensor<3, burn::tensor::Bool> = mask.bool_not().reshape([rows, 1, 1]);
        self.map_both(|x| {
            let drop = drop.clone().expand(x.dims());
            x.mask_fill(drop, 0.0)
        })
    }

    /// `[B, P] -> [1, P]`.
    pub(super) fn over_examples(self, reduction: Reduction) -> Matrix {
        let size = self.form.size();
        #[allow(clippy::cast_precision_loss)] // batches are below 2^53
        let divisor = match reduction {
            Reduction::Sum => 1.0,
            Reduction::Mean => self.form.examples() as f64,
            _ => return reduce::over_examples(reduction, self.into_dense()),
        };
        if self.squared {
            return reduce::over_examples(reduction, self.into_dense());
        }
        let sum = match self.form {
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
            other => return reduce::over_examples(reduction, other.into_dense()),
        };
        if divisor == 1.0 {
            sum
        } else {
            sum.div_scalar(divisor)
        }
    }

    /// `[B, P] -> [B, 1]`.
    pub(super) fn over_elements(self, fold: Fold) -> Matrix {
        if fold != Fold::Sum {
            return reduce::over_elements(fold, self.into_dense());
        }
        let examples = self.form.examples();
        match (self.form, self.squared) {
            (Form::Outer { left, right }, true) => sq_norm_outer(left, right),
            (Form::Outer { left, right }, false) => {
                let sums = left.sum_dim(2) * right.sum_dim(2);
                sums.sum_dim(1).reshape([examples, 1])
            }
            (Form::Gather { d, .. }, false) => {
                let [_, tokens, width] = d.dims();
                reduce::over_elements(fold, d.reshape([examples, tokens * width]))
            }
            (form, squared) => {
                let factors = Self {
                    form,
                    squared,
                    ..self
                };
                reduce::over_elements(fold, factors.into_dense())
            }
        }
    }
}

/// `sum_lr (sum_t left[b,t,l] right[b,t,r])^2`, `[B, 1]`.
fn sq_norm_outer(left: Tensor<3>, right: Tensor<3>) -> Matrix {
    let [examples, tokens, rows] = left.dims();
    let columns = right.dims()[2];
    let dtype = right.dtype();
    let wide = right.device().supports_dtype(DType::F64);
    if tokens == 1 {
        let norms = sq_norms(left) * sq_norms(right);
        norms.reshape([examples, 1])
    } else if 2 * tokens * tokens <= rows * columns && wide {
        // Where tokens cancel, the products do too: in f32 the sum would be rounding alone, and might be negative.
        let (left, right) = (left.cast(DType::F64), right.cast(DType::F64));
        let left = left.clone().matmul(left.swap_dims(1, 2));
        let right = right.clone().matmul(right.swap_dims(1, 2));
        let products = (left * right).reshape([examples, tokens * tokens]);
        let sum = reduce::over_elements(Fold::Sum, products);
        super::ops::binary_right(Binary::Max, sum, 0.0).cast(dtype)
    } else {
        let g = left.swap_dims(1, 2).matmul(right);
        let g = g.reshape([examples, rows * columns]);
        reduce::over_elements(Fold::Sum, g.clone() * g)
    }
}

/// `sum_tf x[b,t,f]^2`, `[B, 1]`.
fn sq_norms(x: Tensor<3>) -> Matrix {
    let [examples, tokens, width] = x.dims();
    let x = x.reshape([examples, tokens * width]);
    reduce::over_elements(Fold::Sum, x.clone() * x)
}
