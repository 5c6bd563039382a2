//! Per-example values in factors: what can be said of them exactly without ever making `[B, L, R]`.
//!
//! The gradients of an outer leaf are `x_b = sum_t left[b,t] (x) right[b,t]`, those of a gather leaf add rows into a table. Such a
//! value stays in factors as long as the program only
//!
//! | operation | on factors | source |
//! |--|--|--|
//! | scales each example, or all, by a number | scales `right` | Goodfellow, arXiv 1510.01799 |
//! | multiplies or divides each element by the same number in all examples | remembers that factor `w`, or scales the rows of a gather leaf | |
//! | takes `sign`, `abs` or the square, outer with T = 1 | takes it of both factors and of `w`, which is exact: they are multiplicative | arXiv 2510.00236 |
//! | takes a function that keeps 0, gather | adds repeated ids of an example up, then takes it of what is left | arXiv 2510.00236 |
//! | sums or averages over the examples | one matrix product, times `w` | |
//! | sums each example's elements | `sum_t left w right^T`: so also its dot product with a direction | |
//! | sums the squares of each example's elements | see [`NormMethod`](super::settings::NormMethod) | arXiv 1510.01799, 2411.00999 |
//! | takes all dot products of examples | `(left left^T) * (right right^T)`, summed over pairs of tokens | arXiv 1510.01799 |
//! | drops examples | zeros both factors | |
//!
//! Limits follow from that. A row that an example does not use stays 0, also where the example is weighted by NaN or
//! infinity; one that it uses twice is NaN where it is weighted by infinity. A square is taken of each factor, so in f32 each factor's elements, not only their product, must lie between 1e-19
//! and 1.8e19 in size. A divisor of all examples enters as its reciprocal, so one below 3e-39 in f32 gives infinity.
//!
//! Everything else is handed back: the caller makes the value dense, or defers it and computes it tile by tile. With T > 1
//! the product of `sign(left)` and `sign(right)` is the statistic over tokens, not over examples, so it is never taken.

mod gather;
mod reductions;

use std::ops::Range;

use burn::tensor::{DType, Tensor};
use pergrad_transforms::program::{Binary, Unary};

use super::cell::Cell;
use super::ops::{Mask, Matrix, rounds_to_zero};
use super::settings::{NormMethod, Settings};
use crate::backend::reads_half;
use crate::grads::form::Form;

/// A per-example value in factors.
#[derive(Clone)]
pub(super) struct Factors {
    form: Form,
    /// `w [1, P]`: the value is `w` times what the form says; only outer leaves.
    weights: Option<Matrix>,
    /// The value is `w` times the square of what the form says; only outer leaves with T > 1.
    squared: bool,
    /// No row of a gather leaf is used twice by one example, but for rows of zeros.
    merged: bool,
}

/// The factors after an operation, or as they were where the operation cannot be said of factors.
pub(super) type Kept<T = Box<Factors>> = Result<T, Box<Factors>>;

/// The gradients of a leaf for computing in `dtype`: in factors where that is smaller than in full.
pub(super) fn read(form: Form, dtype: DType, settings: &Settings) -> Cell {
    let form = match form {
        Form::Dense(x)
            if settings.kernels
                && matches!(x.dtype(), DType::F16 | DType::BF16)
                && reads_half(&x.device()) =>
        {
            return Cell::Half(x, dtype);
        }
        form => form.cast(dtype),
    };
    let tokens = form.tokens();
    let stays = match &form {
        Form::Outer { left, right } => {
            let (rows, columns) = (left.dims()[2], right.dims()[2]);
            let smaller = tokens * (rows + columns) < rows * columns;
            match settings.norm_method {
                NormMethod::Auto => smaller,
                NormMethod::Ghost => true,
                NormMethod::Simultaneous => {
                    let full = settings.allows(form.examples(), rows * columns, dtype.size());
                    tokens == 1 && smaller || !full
                }
            }
        }
        Form::Gather { d, rows, .. } => tokens < *rows && d.dims()[2] > 0,
        _ => false,
    };
    if stays && tokens > 0 && form.examples() > 0 && form.size() > 0 {
        Cell::Factors(Box::new(Factors {
            form,
            weights: None,
            squared: false,
            merged: tokens == 1,
        }))
    } else {
        Cell::Number(form.into_dense())
    }
}

impl Factors {
    /// `[B, P]`.
    pub(super) fn into_dense(self) -> Matrix {
        let dense = self.form.into_dense();
        let dense = if self.squared {
            dense.clone() * dense
        } else {
            dense
        };
        match self.weights {
            Some(weights) => dense * weights,
            None => dense,
        }
    }

    /// The two factors of an outer leaf.
    pub(super) fn outer(&self) -> Option<[Tensor<3>; 2]> {
        match &self.form {
            Form::Outer { left, right } => Some([left.clone(), right.clone()]),
            _ => None,
        }
    }

    /// Whether the value is the square of what the factors say.
    pub(super) fn is_squared(&self) -> bool {
        self.squared
    }

    /// What the value is multiplied with beside, `[1, P]`.
    pub(super) fn weights(&self) -> Option<Matrix> {
        self.weights.clone()
    }

    /// T.
    pub(super) fn tokens(&self) -> usize {
        self.form.tokens()
    }

    /// B and P.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.form.examples(), self.form.size()]
    }

    pub(super) fn dtype(&self) -> DType {
        self.form.dtype()
    }

    /// Columns of the value come in groups of this many.
    pub(super) fn row_size(&self) -> usize {
        match &self.form {
            Form::Outer { right: d, .. } | Form::Gather { d, .. } => d.dims()[2],
            other => other.size(),
        }
    }

    /// Some columns of the value; both ends are multiples of the [row size](Self::row_size).
    pub(super) fn tile(&self, columns: &Range<usize>) -> Self {
        let width = self.row_size();
        let (first, count) = (columns.start / width, columns.len() / width);
        let form = match &self.form {
            Form::Outer { left, right } => Form::Outer {
                left: left.clone().narrow(2, first, count),
                right: right.clone(),
            },
            Form::Gather { ids, d, .. } => gather::tile(ids.clone(), d.clone(), first, count),
            other => other.clone(),
        };
        let weights = self.weights.clone();
        Self {
            form,
            weights: weights.map(|w| w.narrow(1, columns.start, columns.len())),
            squared: self.squared,
            merged: self.merged,
        }
    }

    fn map_right(self, f: impl FnOnce(Tensor<3>) -> Tensor<3>) -> Box<Self> {
        let form = match self.form {
            Form::Outer { left, right } => Form::Outer {
                left,
                right: f(right),
            },
            Form::Gather { ids, d, rows } => Form::Gather { ids, d: f(d), rows },
            other => other,
        };
        Box::new(Self { form, ..self })
    }

    /// The same function of every factor.
    fn map_all(self, f: impl Fn(Matrix) -> Matrix) -> Box<Self> {
        let f = |x: Tensor<3>| {
            let [examples, tokens, width] = x.dims();
            let flat = x.reshape([examples, tokens * width]);
            f(flat).reshape([examples, tokens, width])
        };
        let weights = self.weights.map(|w| {
            let size = w.dims()[1];
            f(w.reshape([1, 1, size])).reshape([1, size])
        });
        let form = match self.form {
            Form::Outer { left, right } => Form::Outer {
                left: f(left),
                right: f(right),
            },
            Form::Gather { ids, d, rows } => Form::Gather { ids, d: f(d), rows },
            other => other,
        };
        Box::new(Self {
            form,
            weights,
            ..self
        })
    }

    fn is_gather(&self) -> bool {
        matches!(self.form, Form::Gather { .. })
    }

    pub(super) fn unary(self: Box<Self>, f: Unary) -> Kept {
        if f == Unary::Neg {
            return Ok(match self.weights {
                None if !self.squared => self.map_right(Tensor::neg),
                _ => return Err(self),
            });
        }
        if self.is_gather() {
            let keeps_zero = f.apply(0.0_f64) == 0.0;
            return if keeps_zero {
                Ok(self.merge().map_all(|x| super::ops::unary(f, x)))
            } else {
                Err(self)
            };
        }
        let one_use = self.form.tokens() == 1;
        match f {
            Unary::Square if one_use => Ok(self.map_all(|x| x.clone() * x)),
            Unary::Abs if one_use => Ok(self.map_all(Tensor::abs)),
            // The sign of a product is the product of the signs, but for 0 times infinity: it is NaN, and `0 * sign(inf)` would
            // be 0. So an infinity becomes NaN here, and shows.
            Unary::Sign if one_use => {
                Ok(self.map_all(|x| super::ops::unary(f, x.clone()) + (x.clone() - x)))
            }
            Unary::Square if !self.squared => Ok(Box::new(Self {
                squared: true,
                weights: self.weights.map(|w| w.clone() * w),
                ..*self
            })),
            _ => Err(self),
        }
    }

    /// Multiplied, divided or bounded by a number of the host.
    pub(super) fn binary_right(self: Box<Self>, f: Binary, c: f64) -> Kept {
        match f {
            _ if self.squared => Err(self),
            Binary::Mul => Ok(self.map_right(|x| x.mul_scalar(c))),
            Binary::Div => Ok(self.map_right(|x| x.div_scalar(c))),
            // A number that rounds to 0 goes the dense way, which looks at it.
            Binary::DivOrZero if !rounds_to_zero(c, self.dtype()) => {
                Ok(self.map_right(|x| x.div_scalar(c)))
            }
            // Where 0 stays 0, the rows that an example does not use do.
            Binary::Min | Binary::Max if self.is_gather() && f.apply(0.0, c) == 0.0 => {
                Ok(self.merge().map_all(|x| super::ops::binary_right(f, x, c)))
            }
            _ => Err(self),
        }
    }

    /// Multiplied or divided by one number for each example, `[B, 1]` or `[1, 1]`, or for each element, `[1, P]`.
    pub(super) fn scale(self: Box<Self>, f: Binary, by: Matrix) -> Kept {
        if self.squared {
            return Err(self);
        }
        if by.dims()[1] > 1 {
            return if by.dims()[0] == 1 {
                self.scale_elements(f, by)
            } else {
                Err(self)
            };
        }
        let column = |w: Matrix| {
            let rows = w.dims()[0];
            w.reshape([rows, 1, 1])
        };
        match f {
            Binary::Mul => Ok(self.map_right(|x| x * column(by))),
            Binary::Div => Ok(self.map_right(|x| x / column(by))),
            // Whether a sum of several outer products is zero, its factors do not tell.
            Binary::DivOrZero if self.weights.is_some() => Err(self),
            Binary::DivOrZero if self.form.tokens() > 1 && !self.is_gather() => Err(self),
            Binary::DivOrZero => {
                let this = self.merge();
                // 0 / 0 is 0 for an example of zeros; anything else divided by 0 is infinite, and shows.
                let nothing = this.is_zero().bool_and(super::ops::expand(
                    by.clone().equal_elem(0.0),
                    [this.form.examples(), 1],
                ));
                this.map_right(|x| x / column(by)).keep(nothing.bool_not())
            }
            _ => Err(self),
        }
    }

    fn scale_elements(self: Box<Self>, f: Binary, by: Matrix) -> Kept {
        let by = match f {
            Binary::Mul => by,
            Binary::Div => by.recip(),
            _ => return Err(self),
        };
        if let Form::Gather { ids, d, rows } = self.form {
            let d = d.clone() * gather::rows(&ids, by, d.dims());
            let form = Form::Gather { ids, d, rows };
            return Ok(Box::new(Self { form, ..*self }));
        }
        let weights = Some(match self.weights {
            Some(weights) => weights * by,
            None => by,
        });
        Ok(Box::new(Self { weights, ..*self }))
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
    pub(super) fn keep(self: Box<Self>, mask: Mask) -> Kept {
        if self.weights.is_some() {
            // An infinite weight would make the zeros NaN again.
            return Err(self);
        }
        let drop = mask.bool_not();
        Ok(self.map_all(|x| {
            let drop = super::ops::expand(drop.clone(), x.dims());
            x.mask_fill(drop, 0.0)
        }))
    }

    /// Repeated rows of a gather leaf added up.
    fn merge(self) -> Self {
        let Form::Gather { ids, d, rows } = self.form else {
            return self;
        };
        let d = if self.merged {
            d
        } else {
            gather::merge(&ids, d)
        };
        Self {
            form: Form::Gather { ids, d, rows },
            merged: true,
            ..self
        }
    }
}
