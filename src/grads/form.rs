//! The forms in which the per-example gradients of a leaf are held.
//!
//! | form | tensors | per-example gradient | from |
//! |--|--|--|--|
//! | dense | `g [B, P]` | `g[b]` | anything |
//! | outer | `left [B, T, L]`, `right [B, T, R]` | `sum_t left[b,t] (x) right[b,t]`, `P = L R` | linear layers, convolutions through unfold, attention |
//! | gather | `ids [B, T]`, `d [B, T, D]`, V rows | row `ids[b,t]` gets `d[b,t]`, `P = V D` | embeddings |
//! | tokens | `d [B, T, F]` | `sum_t d[b,t]`, `P = F` | biases; parameters that were not used, with T = 0 |
//!
//! T counts the places where the parameter was used for one example: tokens, pixels, steps, or several uses of one layer. Two
//! uses of one parameter join along T, so every form stays exact. Only [`dense`](Form::into_dense) ever makes a tensor of the
//! size `B L R`.

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor};

use crate::model::full;

/// How the gradients of a leaf are held. See the [module](self).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Form {
    /// `g [B, P]`.
    Dense(Tensor<2>),
    /// `sum_t left[b,t] (x) right[b,t]`.
    Outer {
        /// `[B, T, L]`: the rows of the parameter.
        left: Tensor<3>,
        /// `[B, T, R]`: the columns of the parameter.
        right: Tensor<3>,
    },
    /// Row `ids[b,t]` gets `d[b,t]`.
    Gather {
        /// `[B, T]`, each below `rows`; that is not checked, since it would wait for the device.
        ids: Tensor<2, Int>,
        /// `[B, T, D]`.
        d: Tensor<3>,
        /// The number of rows V.
        rows: usize,
    },
    /// `sum_t d[b,t]`.
    Tokens(
        /// `[B, T, F]`.
        Tensor<3>,
    ),
}

impl Form {
    /// The number of examples B.
    pub fn examples(&self) -> usize {
        match self {
            Self::Dense(g) => g.dims()[0],
            Self::Outer { left: d, .. } | Self::Gather { d, .. } | Self::Tokens(d) => d.dims()[0],
        }
    }

    /// The number of uses for one example T; 1 for a dense leaf.
    pub fn tokens(&self) -> usize {
        match self {
            Self::Dense(_) => 1,
            Self::Outer { left: d, .. } | Self::Gather { d, .. } | Self::Tokens(d) => d.dims()[1],
        }
    }

    /// Whether the tensors of the form agree on B, T and the element type.
    pub(crate) fn is_consistent(&self) -> bool {
        match self {
            Self::Outer { left, right } => {
                left.dims()[..2] == right.dims()[..2] && left.dtype() == right.dtype()
            }
            Self::Gather { ids, d, .. } => ids.dims()[..] == d.dims()[..2],
            Self::Dense(_) | Self::Tokens(_) => true,
        }
    }

    /// The same gradients without autodiff.
    pub(crate) fn inner(self) -> Self {
        match self {
            Self::Dense(g) => Self::Dense(g.inner()),
            Self::Outer { left, right } => Self::Outer {
                left: left.inner(),
                right: right.inner(),
            },
            Self::Gather { ids, d, rows } => Self::Gather {
                ids: ids.inner(),
                d: d.inner(),
                rows,
            },
            Self::Tokens(d) => Self::Tokens(d.inner()),
        }
    }

    /// The form and its shapes, for error messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Dense(g) => format!("the dense form {:?}", g.dims()),
            Self::Outer { left, right } => {
                format!("the outer form {:?} and {:?}", left.dims(), right.dims())
            }
            Self::Gather { ids, d, rows } => {
                let (ids, d) = (ids.dims(), d.dims());
                format!("the gather form {ids:?} and {d:?} into {rows} rows")
            }
            Self::Tokens(d) => format!("the token form {:?}", d.dims()),
        }
    }

    /// The number of elements P of the leaf.
    pub fn size(&self) -> usize {
        match self {
            Self::Dense(g) => g.dims()[1],
            Self::Outer { left, right } => left.dims()[2] * right.dims()[2],
            Self::Gather { d, rows, .. } => rows * d.dims()[2],
            Self::Tokens(d) => d.dims()[2],
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Dense(g) => g.dtype(),
            Self::Outer { right: d, .. } | Self::Gather { d, .. } | Self::Tokens(d) => d.dtype(),
        }
    }

    /// The device.
    pub fn device(&self) -> Device {
        match self {
            Self::Dense(g) => g.device(),
            Self::Outer { right: d, .. } | Self::Gather { d, .. } | Self::Tokens(d) => d.device(),
        }
    }

    /// The same gradients in another float type.
    #[must_use]
    pub fn cast(self, dtype: DType) -> Self {
        if self.dtype() == dtype {
            return self;
        }
        match self {
            Self::Dense(g) => Self::Dense(g.cast(dtype)),
            Self::Outer { left, right } => Self::Outer {
                left: left.cast(dtype),
                right: right.cast(dtype),
            },
            Self::Gather { ids, d, rows } => Self::Gather {
                ids,
                d: d.cast(dtype),
                rows,
            },
            Self::Tokens(d) => Self::Tokens(d.cast(dtype)),
        }
    }

    /// The gradients in full, `g [B, P]`: as large as B times the parameter. f16 and bf16 add up in f32.
    pub fn into_dense(self) -> Tensor<2> {
        let (examples, size, dtype) = (self.examples(), self.size(), self.dtype());
        if matches!(dtype, DType::F16 | DType::BF16) && self.tokens() > 1 {
            return self.cast(DType::F32).into_dense().cast(dtype);
        }
        match self {
            Self::Dense(g) => g,
            _ if examples == 0 || size == 0 || self.tokens() == 0 => {
                full(0.0, [examples, size], &self.device(), self.dtype())
            }
            Self::Outer { left, right } => {
                let g = if left.dims()[1] == 1 {
                    // An outer product: broadcasting is cheaper than a matrix product with an inner size of 1.
                    left.swap_dims(1, 2) * right
                } else {
                    left.swap_dims(1, 2).matmul(right)
                };
                g.reshape([examples, size])
            }
            Self::Gather { ids, d, rows } => {
                let [_, tokens, width] = d.dims();
                // In 64 bits: `B V` may be beyond 32, and the ids may have any width.
                let ids = ids.cast(burn::tensor::IntDType::I64);
                let first = Tensor::<1, Int>::arange(0..examples as i64, &ids.device());
                let first = first.cast(burn::tensor::IntDType::I64);
                let first = first.mul_scalar(rows as i64).reshape([examples, 1]);
                let at = (ids + first).reshape([examples * tokens]);
                let d = d.reshape([examples * tokens, width]);
                add_rows(examples * rows, at, d).reshape([examples, size])
            }
            Self::Tokens(d) => d.sum_dim(1).reshape([examples, size]),
        }
    }

    /// The sum of all uses of one parameter: they join along T where they have one form.
    pub(crate) fn join(mut uses: Vec<Self>) -> Option<Self> {
        if uses.len() < 2 {
            return uses.pop();
        }
        let same = |x: &Self| match (x, &uses[0]) {
            (Self::Outer { left: x, .. }, Self::Outer { left: y, .. }) => {
                x.dims()[2] == y.dims()[2]
            }
            (Self::Gather { .. }, Self::Gather { .. }) | (Self::Tokens(_), Self::Tokens(_)) => true,
            _ => false,
        };
        if !uses.iter().all(same) {
            let dtype = match uses[0].dtype() {
                DType::F16 | DType::BF16 => DType::F32,
                dtype => dtype,
            };
            let dense = uses.into_iter().map(|form| form.cast(dtype).into_dense());
            return dense.reduce(|sum, g| sum + g).map(Self::Dense);
        }
        let (mut ids, mut lefts, mut rights, mut table) = (vec![], vec![], vec![], 0);
        for form in uses {
            match form {
                Self::Outer { left, right } => {
                    lefts.push(left);
                    rights.push(right);
                }
                Self::Gather { ids: i, d, rows } => {
                    ids.push(i);
                    rights.push(d);
                    table = rows;
                }
                Self::Tokens(d) => rights.push(d),
                Self::Dense(_) => unreachable!("dense uses add up"),
            }
        }
        let right = Tensor::cat(rights, 1);
        Some(if !lefts.is_empty() {
            let left = Tensor::cat(lefts, 1);
            Self::Outer { left, right }
        } else if !ids.is_empty() {
            Self::Gather {
                ids: Tensor::cat(ids, 1),
                d: right,
                rows: table,
            }
        } else {
            Self::Tokens(right)
        })
    }

    /// Each of T tokens as an example of its own: `B T` examples, zeros of a leaf that was not used. Nothing for a dense leaf of some
    /// examples.
    pub(crate) fn per_token(self, all: usize) -> Option<Self> {
        let (examples, tokens) = (self.examples(), self.tokens());
        if examples == 0 || tokens == 0 {
            let shape = [examples * all, self.size()];
            let zeros = full(0.0, shape, &self.device(), self.dtype());
            return Some(Self::Dense(zeros));
        }
        let split = |d: Tensor<3>| {
            let width = d.dims()[2];
            d.reshape([examples * tokens, 1, width])
        };
        match self {
            Self::Dense(_) => None,
            Self::Outer { left, right } => Some(Self::Outer {
                left: split(left),
                right: split(right),
            }),
            Self::Gather { ids, d, rows } => Some(Self::Gather {
                ids: ids.reshape([examples * tokens, 1]),
                d: split(d),
                rows,
            }),
            Self::Tokens(d) => Some(Self::Tokens(split(d))),
        }
    }
}

/// A table of `rows` rows of zeros to which the rows of `d` are added, each at its place.
pub(crate) fn add_rows(rows: usize, at: Tensor<1, Int>, d: Tensor<2>) -> Tensor<2> {
    let zeros = Tensor::zeros([rows, d.dims()[1]], (&d.device(), d.dtype()));
    zeros.select_assign(0, at, d, IndexingUpdateOp::Add)
}
