//! The loops over the columns of a tile. Each is one operation on contiguous numbers, so that the compiler vectorizes it.

use num_traits::Float;
use pergrad_transforms::program::{Binary, Comparison, Fold, Test, Unary};

/// An operand: a number for each column, or one for all.
#[derive(Clone, Copy)]
pub(super) enum Arg<'a, E> {
    Each(&'a [E]),
    All(E),
}

#[inline(always)]
fn map<E: Float>(x: Arg<'_, E>, out: &mut [E], f: impl Fn(E) -> E) {
    match x {
        Arg::Each(x) => out.iter_mut().zip(x).for_each(|(out, &x)| *out = f(x)),
        Arg::All(x) => out.fill(f(x)),
    }
}

#[inline(always)]
fn zip<E: Float>(x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E], f: impl Fn(E, E) -> E) {
    match (x, y) {
        (Arg::Each(x), Arg::Each(y)) => {
            let inputs = x.iter().zip(y);
            out.iter_mut()
                .zip(inputs)
                .for_each(|(out, (&x, &y))| *out = f(x, y));
        }
        (Arg::Each(x), Arg::All(y)) => map(Arg::Each(x), out, |x| f(x, y)),
        (Arg::All(x), y) => map(y, out, |y| f(x, y)),
    }
}

#[inline(always)]
pub(super) fn flag<E: Float>(holds: bool) -> E {
    if holds { E::one() } else { E::zero() }
}

/// One loop for each function, chosen outside of it.
macro_rules! choose {
    ($f:expr, $kind:ident { $($name:ident),* }, |$g:ident| $body:expr) => {
        match $f {
            $($kind::$name => { let $g = $kind::$name; $body })*
        }
    };
}

#[inline(always)]
pub(super) fn unary<E: Float>(f: Unary, x: Arg<'_, E>, out: &mut [E]) {
    choose!(
        f,
        Unary {
            Neg,
            Abs,
            Sign,
            Square,
            Sqrt,
            Exp,
            Ln,
            Tanh
        },
        |f| {
            map(x, out, |x| f.apply(x));
        }
    );
}

#[inline(always)]
pub(super) fn binary<E: Float>(f: Binary, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    choose!(
        f,
        Binary {
            Add,
            Sub,
            Mul,
            Div,
            DivOrZero,
            Min,
            Max,
            Pow
        },
        |f| {
            zip(x, y, out, |x, y| f.apply(x, y));
        }
    );
}

#[inline(always)]
pub(super) fn compare<E: Float>(f: Comparison, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    choose!(
        f,
        Comparison {
            Less,
            LessEqual,
            Equal
        },
        |f| {
            zip(x, y, out, |x, y| flag(f.apply(x, y)));
        }
    );
}

#[inline(always)]
pub(super) fn test<E: Float>(f: Test, x: Arg<'_, E>, out: &mut [E]) {
    choose!(f, Test { IsNan, IsFinite }, |f| map(x, out, |x| flag(
        f.apply(x)
    )));
}

#[inline(always)]
pub(super) fn and<E: Float>(x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    zip(x, y, out, |x, y| flag(x != E::zero() && y != E::zero()));
}

#[inline(always)]
pub(super) fn not<E: Float>(x: Arg<'_, E>, out: &mut [E]) {
    map(x, out, |x| flag(x == E::zero()));
}

/// `yes` where the predicate holds, else `no`.
#[inline(always)]
pub(super) fn select<E: Float>(c: Arg<'_, E>, yes: Arg<'_, E>, no: Arg<'_, E>, out: &mut [E]) {
    map(no, out, |no| no);
    match (c, yes) {
        (Arg::All(c), yes) if c != E::zero() => map(yes, out, |yes| yes),
        (Arg::All(_), _) => {}
        (Arg::Each(c), Arg::Each(yes)) => {
            let inputs = c.iter().zip(yes);
            for (out, (&c, &yes)) in out.iter_mut().zip(inputs) {
                *out = if c != E::zero() { yes } else { *out };
            }
        }
        (Arg::Each(c), Arg::All(yes)) => {
            for (out, &c) in out.iter_mut().zip(c) {
                *out = if c != E::zero() { yes } else { *out };
            }
        }
    }
}

/// `out += x`.
#[inline(always)]
pub(super) fn add<E: Float>(x: Arg<'_, E>, out: &mut [E]) {
    match x {
        Arg::Each(x) => out.iter_mut().zip(x).for_each(|(out, &x)| *out = *out + x),
        Arg::All(x) => out.iter_mut().for_each(|out| *out = *out + x),
    }
}

/// `out = f(out, x)`, for a maximum or a minimum.
#[inline(always)]
pub(super) fn extreme<E: Float>(f: Binary, x: Arg<'_, E>, out: &mut [E]) {
    let each = |out: &mut [E], f: Binary| match x {
        Arg::Each(x) => out
            .iter_mut()
            .zip(x)
            .for_each(|(out, &x)| *out = f.apply(*out, x)),
        Arg::All(x) => out.iter_mut().for_each(|out| *out = f.apply(*out, x)),
    };
    match f {
        Binary::Max => each(out, Binary::Max),
        _ => each(out, Binary::Min),
    }
}

/// How many partial sums run side by side, so that they fill vector registers.
const LANES: usize = 32;

/// The sum or the largest of some columns.
#[inline(always)]
pub(super) fn fold<E: Float>(fold: Fold, x: Arg<'_, E>, columns: usize) -> E {
    let f = |a: E, b: E| match fold {
        Fold::Sum => a + b,
        Fold::Max => Binary::Max.apply(a, b),
    };
    match x {
        Arg::All(x) => (0..columns).fold(E::zero(), |a, _| f(a, x)),
        Arg::Each(x) => {
            let mut lanes = [E::zero(); LANES];
            let chunks = x.chunks_exact(LANES);
            let rest = chunks.remainder();
            for chunk in chunks {
                for (lane, &x) in lanes.iter_mut().zip(chunk) {
                    *lane = f(*lane, x);
                }
            }
            let rest = rest.iter().fold(E::zero(), |a, &b| f(a, b));
            lanes.into_iter().fold(rest, f)
        }
    }
}
