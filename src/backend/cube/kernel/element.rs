//! Element-wise instructions, on vectors of columns. Predicates are 1 or 0.

use cubecl::prelude::*;
use pergrad_transforms::program::{Binary, Comparison, Test, Unary};

use crate::kernel::{Code, Reduce, Taken};

/// Computes an instruction from the results of those before it.
#[cube]
pub(super) fn compute<F: Float, N: Size>(
    regs: &Array<Vector<F, N>>,
    scalars: &Sequence<InputScalar>,
    #[comptime] code: Code,
) -> Vector<F, N> {
    match code {
        Code::Scalar(at) => Vector::new(scalars.index(comptime!(usize::from(at))).get::<F>()),
        Code::Unary(f, x) => unary::<F, N>(regs[comptime!(x.index())], f),
        Code::Binary(f, x, y) => {
            binary::<F, N>(regs[comptime!(x.index())], regs[comptime!(y.index())], f)
        }
        Code::Compare(f, x, y) => {
            compare::<F, N>(regs[comptime!(x.index())], regs[comptime!(y.index())], f)
        }
        Code::Test(f, x) => test::<F, N>(regs[comptime!(x.index())], f),
        Code::And(x, y) => regs[comptime!(x.index())] * regs[comptime!(y.index())],
        Code::Not(x) => Vector::new(F::new(1.0)) - regs[comptime!(x.index())],
        Code::Select(c, x, y) => {
            let holds = regs[comptime!(c.index())].not_equal(&Vector::new(F::new(0.0)));
            select_many(
                holds,
                regs[comptime!(x.index())],
                regs[comptime!(y.index())],
            )
        }
        Code::Input(_) | Code::OverExamples(..) | Code::OverElements(..) => {
            comptime!(unreachable!("{code:?} is no element-wise instruction"))
        }
    }
}

#[cube]
fn flag<F: Float, N: Size>(holds: Vector<bool, N>) -> Vector<F, N> {
    select_many(holds, Vector::new(F::new(1.0)), Vector::new(F::new(0.0)))
}

#[cube]
fn unary<F: Float, N: Size>(x: Vector<F, N>, #[comptime] f: Unary) -> Vector<F, N> {
    let zero = Vector::new(F::new(0.0));
    match f {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sign => {
            // Zero and NaN are themselves.
            let below = select_many(x.less_than(&zero), Vector::new(F::new(-1.0)), x);
            select_many(x.greater_than(&zero), Vector::new(F::new(1.0)), below)
        }
        Unary::Square => x * x,
        Unary::Sqrt => x.sqrt(),
        Unary::Exp => x.exp(),
        Unary::Ln => x.ln(),
        Unary::Tanh => x.tanh(),
    }
}

#[cube]
fn binary<F: Float, N: Size>(
    x: Vector<F, N>,
    y: Vector<F, N>,
    #[comptime] f: Binary,
) -> Vector<F, N> {
    match f {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::DivOrZero => {
            let zero = Vector::new(F::new(0.0));
            let below = select_many(y.equal(&zero), zero, x / y);
            select_many(x.equal(&zero), below, x / y)
        }
        Binary::Min => {
            // NaN in y fails the comparison, NaN in x is asked for.
            let least = select_many(x.less_than(&y), x, y);
            select_many(x.is_nan(), x, least)
        }
        Binary::Max => {
            let greatest = select_many(x.greater_than(&y), x, y);
            select_many(x.is_nan(), x, greatest)
        }
        Binary::Pow => x.powf(y),
    }
}

#[cube]
fn compare<F: Float, N: Size>(
    x: Vector<F, N>,
    y: Vector<F, N>,
    #[comptime] f: Comparison,
) -> Vector<F, N> {
    match f {
        Comparison::Less => flag(x.less_than(&y)),
        Comparison::LessEqual => flag(x.less_equal(&y)),
        Comparison::Equal => flag(x.equal(&y)),
    }
}

#[cube]
fn test<F: Float, N: Size>(x: Vector<F, N>, #[comptime] f: Test) -> Vector<F, N> {
    let nan = flag(x.is_nan());
    match f {
        Test::IsNan => nan,
        Test::IsFinite => {
            let one = Vector::new(F::new(1.0));
            (one - nan) * (one - flag(x.is_inf()))
        }
    }
}

/// What a reduction takes of a row.
#[cube]
pub(super) fn taken<F: Float, N: Size>(
    regs: &Array<Vector<F, N>>,
    #[comptime] taken: Taken,
) -> Vector<F, N> {
    let x = regs[comptime!(taken.of.index())];
    match taken.by {
        Some(f) => unary::<F, N>(x, f),
        None => x,
    }
}

/// Two parts of a reduction.
#[cube]
pub(super) fn merge<F: Float, N: Size>(
    x: Vector<F, N>,
    y: Vector<F, N>,
    #[comptime] reduce: Reduce,
) -> Vector<F, N> {
    match reduce {
        Reduce::Max => binary::<F, N>(x, y, Binary::Max),
        Reduce::Min => binary::<F, N>(x, y, Binary::Min),
        _ => x + y,
    }
}
