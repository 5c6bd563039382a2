//! The element-wise operations of a program on burn tensors, with the meaning the program gives them.
//!
//! burn's own operations differ between backends, or from that meaning, where NaN is concerned: `sign(NaN)` is 0 on Flex, and
//! `clamp` or a maximum may hide a NaN. A NaN must show, so these put it back.

use burn::tensor::{Bool, DType, Shape, Tensor};
use pergrad_transforms::program::{Binary, Comparison, Test, Unary};

pub(super) type Matrix = Tensor<2>;
pub(super) type Mask = Tensor<2, Bool>;

pub(super) fn unary(f: Unary, x: Matrix) -> Matrix {
    match f {
        Unary::Neg => x.neg(),
        Unary::Abs => x.abs(),
        Unary::Sign => {
            let nan = x.clone().is_nan();
            x.sign().mask_fill(nan, f64::NAN)
        }
        Unary::Square => x.clone() * x,
        Unary::Sqrt => x.sqrt(),
        Unary::Exp => x.exp(),
        Unary::Ln => x.log(),
        Unary::Tanh => x.tanh(),
    }
}

pub(super) fn binary(f: Binary, x: Matrix, y: Matrix) -> Matrix {
    match f {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::DivOrZero => {
            let both = x.clone().equal_elem(0.0);
            let (both, zero) = broadcast(both, y.clone().equal_elem(0.0));
            (x / y).mask_fill(both.bool_and(zero), 0.0)
        }
        Binary::Min => {
            let (x, y) = broadcast(x, y);
            extreme(x.clone().lower(y.clone()), x, y)
        }
        Binary::Max => {
            let (x, y) = broadcast(x, y);
            extreme(x.clone().greater(y.clone()), x, y)
        }
        Binary::Pow => {
            let (x, y) = broadcast(x, y);
            x.powf(y)
        }
    }
}

/// `x` where it wins, else `y`; NaN where either is.
fn extreme(x_wins: Mask, x: Matrix, y: Matrix) -> Matrix {
    let nan = x.clone().is_nan().bool_or(y.clone().is_nan());
    y.mask_where(x_wins, x).mask_fill(nan, f64::NAN)
}

/// `x f c` with a number of the host.
pub(super) fn binary_right(f: Binary, x: Matrix, c: f64) -> Matrix {
    match f {
        Binary::Add => x.add_scalar(c),
        Binary::Sub => x.sub_scalar(c),
        Binary::Mul => x.mul_scalar(c),
        Binary::Div => x.div_scalar(c),
        Binary::DivOrZero if !rounds_to_zero(c, x.dtype()) => x.div_scalar(c),
        Binary::Pow => x.powf_scalar(c),
        Binary::Min if !c.is_nan() => {
            let above = x.clone().greater_elem(c);
            x.mask_fill(above, c)
        }
        Binary::Max if !c.is_nan() => {
            let below = x.clone().lower_elem(c);
            x.mask_fill(below, c)
        }
        _ => {
            let c = number(c, &x);
            binary(f, x, c)
        }
    }
}

/// Whether a number of the host is 0 in a dtype of the computation.
#[allow(clippy::cast_possible_truncation)] // the question is what truncation does
pub(super) fn rounds_to_zero(c: f64, dtype: DType) -> bool {
    c == 0.0 || (dtype != DType::F64 && c as f32 == 0.0)
}

/// `c f x` with a number of the host.
pub(super) fn binary_left(f: Binary, c: f64, x: Matrix) -> Matrix {
    match f {
        Binary::Add | Binary::Mul | Binary::Min | Binary::Max => binary_right(f, x, c),
        Binary::Sub | Binary::Div | Binary::DivOrZero | Binary::Pow => {
            let c = number(c, &x);
            binary(f, c, x)
        }
    }
}

/// A number as a matrix `[1, 1]` of the dtype and device of another.
pub(super) fn number(c: f64, like: &Matrix) -> Matrix {
    Tensor::full([1, 1], c, (&like.device(), like.dtype()))
}

pub(super) fn compare(f: Comparison, x: Matrix, y: Matrix) -> Mask {
    let (x, y) = broadcast(x, y);
    match f {
        Comparison::Less => x.lower(y),
        Comparison::LessEqual => x.lower_equal(y),
        Comparison::Equal => x.equal(y),
    }
}

pub(super) fn test(f: Test, x: Matrix) -> Mask {
    match f {
        Test::IsNan => x.is_nan(),
        Test::IsFinite => x.is_finite(),
    }
}

pub(super) fn select(condition: Mask, yes: Matrix, no: Matrix) -> Matrix {
    let (yes, no) = broadcast(yes, no);
    let (condition, yes) = broadcast(condition, yes);
    let no = expand(no, yes.dims());
    no.mask_where(condition, yes)
}

/// Both operands at their common shape.
pub(super) fn broadcast<K, L>(x: Tensor<2, K>, y: Tensor<2, L>) -> (Tensor<2, K>, Tensor<2, L>)
where
    K: burn::tensor::kind::Basic,
    L: burn::tensor::kind::Basic,
{
    let (a, b) = (x.dims(), y.dims());
    let common = [0, 1].map(|axis| if a[axis] == 1 { b[axis] } else { a[axis] });
    (expand(x, common), expand(y, common))
}

/// A matrix at a shape it broadcasts to.
pub(super) fn expand<K: burn::tensor::kind::Basic>(
    x: Tensor<2, K>,
    shape: [usize; 2],
) -> Tensor<2, K> {
    if x.dims() == shape {
        x
    } else {
        // As a `Shape`: burn refuses an array with a 0 in it, but an empty batch or leaf is one.
        x.expand(Shape::from(shape))
    }
}
