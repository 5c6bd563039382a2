//! The loops over the columns of a tile. Each is one operation on contiguous numbers, compiled for every set of vector instructions; the
//! one that the machine has is chosen when it runs.

#![allow(clippy::needless_range_loop)] // see the note at the loops

use num_traits::Float;
use pergrad_transforms::program::{Binary, Comparison, Fold, Test, Unary};
use pulp::Arch;

/// An operand: a number for each column, or one for all.
#[derive(Clone, Copy)]
pub(super) enum Arg<'a, E> {
    Each(&'a [E]),
    All(E),
}

// The loops count instead of chaining iterators: an adapter that is not inlined would leave the vector instructions behind.

#[inline(always)]
fn map<E: Float>(x: Arg<'_, E>, out: &mut [E], f: impl Fn(E) -> E) {
    match x {
        Arg::Each(x) => {
            let x = &x[..out.len()];
            for at in 0..out.len() {
                out[at] = f(x[at]);
            }
        }
        Arg::All(x) => out.fill(f(x)),
    }
}

#[inline(always)]
fn zip<E: Float>(x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E], f: impl Fn(E, E) -> E) {
    match (x, y) {
        (Arg::Each(x), Arg::Each(y)) => {
            let (x, y) = (&x[..out.len()], &y[..out.len()]);
            for at in 0..out.len() {
                out[at] = f(x[at], y[at]);
            }
        }
        (Arg::Each(x), Arg::All(y)) => {
            let x = &x[..out.len()];
            for at in 0..out.len() {
                out[at] = f(x[at], y);
            }
        }
        (Arg::All(x), Arg::Each(y)) => {
            let y = &y[..out.len()];
            for at in 0..out.len() {
                out[at] = f(x, y[at]);
            }
        }
        (Arg::All(x), Arg::All(y)) => out.fill(f(x, y)),
    }
}

#[inline(always)]
fn flag<E: Float>(holds: bool) -> E {
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

/// The functions that a reduction takes on the way.
macro_rules! cheap {
    ($f:expr, |$g:ident| $body:expr) => {
        match $f {
            Unary::Neg => {
                let $g = Unary::Neg;
                $body
            }
            Unary::Abs => {
                let $g = Unary::Abs;
                $body
            }
            Unary::Sign => {
                let $g = Unary::Sign;
                $body
            }
            Unary::Square => {
                let $g = Unary::Square;
                $body
            }
            _ => unreachable!("not cheap"),
        }
    };
}

#[inline(always)]
fn unary<E: Float>(f: Unary, x: Arg<'_, E>, out: &mut [E]) {
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
fn binary<E: Float>(f: Binary, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
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
fn compare<E: Float>(f: Comparison, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
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
fn test<E: Float>(f: Test, x: Arg<'_, E>, out: &mut [E]) {
    choose!(f, Test { IsNan, IsFinite }, |f| map(x, out, |x| flag(
        f.apply(x)
    )));
}

#[inline(always)]
fn and<E: Float>(x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    zip(x, y, out, |x, y| flag(x != E::zero() && y != E::zero()));
}

#[inline(always)]
fn not<E: Float>(x: Arg<'_, E>, out: &mut [E]) {
    map(x, out, |x| flag(x == E::zero()));
}

/// `yes` where the predicate holds, else `no`.
#[inline(always)]
fn select<E: Float>(c: Arg<'_, E>, yes: Arg<'_, E>, no: Arg<'_, E>, out: &mut [E]) {
    let c = match c {
        Arg::Each(c) => &c[..out.len()],
        Arg::All(c) => {
            let taken = if c != E::zero() { yes } else { no };
            return map(taken, out, |x| x);
        }
    };
    map(no, out, |no| no);
    match yes {
        Arg::Each(yes) => {
            let yes = &yes[..out.len()];
            for at in 0..out.len() {
                out[at] = if c[at] != E::zero() { yes[at] } else { out[at] };
            }
        }
        Arg::All(yes) => {
            for at in 0..out.len() {
                out[at] = if c[at] != E::zero() { yes } else { out[at] };
            }
        }
    }
}

/// An element-wise instruction with its operands.
#[derive(Clone, Copy)]
pub(super) enum Elementwise<'a, E> {
    Unary(Unary, Arg<'a, E>),
    Binary(Binary, Arg<'a, E>, Arg<'a, E>),
    Compare(Comparison, Arg<'a, E>, Arg<'a, E>),
    Test(Test, Arg<'a, E>),
    And(Arg<'a, E>, Arg<'a, E>),
    Not(Arg<'a, E>),
    Select(Arg<'a, E>, Arg<'a, E>, Arg<'a, E>),
}

/// Computes an instruction for each column.
pub(super) fn elementwise<E: Float>(arch: Arch, instruction: Elementwise<'_, E>, out: &mut [E]) {
    arch.dispatch(
        #[inline(always)]
        || match instruction {
            Elementwise::Unary(f, x) => unary(f, x, out),
            Elementwise::Binary(f, x, y) => binary(f, x, y, out),
            Elementwise::Compare(f, x, y) => compare(f, x, y, out),
            Elementwise::Test(f, x) => test(f, x, out),
            Elementwise::And(x, y) => and(x, y, out),
            Elementwise::Not(x) => not(x, out),
            Elementwise::Select(c, x, y) => select(c, x, y, out),
        },
    );
}

/// `out = f(out, x)`.
#[inline(always)]
fn update<E: Float>(x: Arg<'_, E>, out: &mut [E], f: impl Fn(E, E) -> E) {
    match x {
        Arg::Each(x) => {
            let x = &x[..out.len()];
            for at in 0..out.len() {
                out[at] = f(out[at], x[at]);
            }
        }
        Arg::All(x) => {
            for out in out {
                *out = f(*out, x);
            }
        }
    }
}

/// `out += x`, or `out += by(x)` for a function that is cheap.
pub(super) fn add<E: Float>(arch: Arch, by: Option<Unary>, x: Arg<'_, E>, out: &mut [E]) {
    arch.dispatch(
        #[inline(always)]
        || match by {
            None => update(x, out, |sum, x| sum + x),
            Some(by) => cheap!(by, |f| update(x, out, |sum, x| sum + f.apply(x))),
        },
    );
}

/// The same of four rows at once: the sum is read and written once.
pub(super) fn add_four<E: Float>(arch: Arch, by: Option<Unary>, rows: [&[E]; 4], out: &mut [E]) {
    #[inline(always)]
    fn four<E: Float>(rows: [&[E]; 4], out: &mut [E], f: impl Fn(E) -> E) {
        let [a, b, c, d] = rows.map(|row| &row[..out.len()]);
        for at in 0..out.len() {
            out[at] = out[at] + ((f(a[at]) + f(b[at])) + (f(c[at]) + f(d[at])));
        }
    }
    arch.dispatch(
        #[inline(always)]
        || match by {
            None => four(rows, out, |x| x),
            Some(by) => cheap!(by, |f| four(rows, out, |x| f.apply(x))),
        },
    );
}

/// `out = f(out, x)`, for a maximum or a minimum.
pub(super) fn extreme<E: Float>(arch: Arch, f: Binary, x: Arg<'_, E>, out: &mut [E]) {
    arch.dispatch(
        #[inline(always)]
        || match f {
            Binary::Max => update(x, out, |out, x| Binary::Max.apply(out, x)),
            _ => update(x, out, |out, x| Binary::Min.apply(out, x)),
        },
    );
}

/// How many partial sums run side by side, so that they fill vector registers.
const LANES: usize = 32;

/// Columns that are added up in the type of the elements; sums of these are added up in f64.
const BLOCK: usize = 1024;

/// The sum or the largest of some columns, of a function of them.
pub(super) fn fold<E: Float>(
    arch: Arch,
    fold: Fold,
    by: Option<Unary>,
    x: Arg<'_, E>,
    columns: usize,
) -> f64 {
    #[inline(always)]
    fn lanes<E: Float>(x: &[E], by: impl Fn(E) -> E, f: impl Fn(E, E) -> E) -> E {
        let mut lanes = [E::zero(); LANES];
        let chunks = x.chunks_exact(LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for at in 0..LANES {
                lanes[at] = f(lanes[at], by(chunk[at]));
            }
        }
        let mut total = E::zero();
        for &x in rest {
            total = f(total, by(x));
        }
        for lane in lanes {
            total = f(total, lane);
        }
        total
    }
    #[inline(always)]
    fn each<E: Float>(fold: Fold, x: &[E], by: impl Fn(E) -> E) -> E {
        match fold {
            Fold::Sum => lanes(x, by, |a, b| a + b),
            Fold::Max => lanes(x, by, |a, b| Binary::Max.apply(a, b)),
        }
    }
    let wide = |x: E| x.to_f64().expect("floats convert");
    match x {
        Arg::All(x) => {
            let x = wide(by.map_or(x, |by| by.apply(x)));
            match fold {
                #[allow(clippy::cast_precision_loss)] // leaves have less than 2^53 elements
                Fold::Sum => x * columns as f64,
                Fold::Max => Binary::Max.apply(0.0, x),
            }
        }
        Arg::Each(x) => {
            let mut total = 0.0;
            for x in x.chunks(BLOCK) {
                let part = arch.dispatch(
                    #[inline(always)]
                    || match by {
                        None => each(fold, x, |x| x),
                        Some(by) => cheap!(by, |f| each(fold, x, |x| f.apply(x))),
                    },
                );
                total = combine(fold, total, wide(part));
            }
            total
        }
    }
}

/// Two parts of a reduction over elements.
pub(super) fn combine(fold: Fold, total: f64, part: f64) -> f64 {
    match fold {
        Fold::Sum => total + part,
        Fold::Max => Binary::Max.apply(total, part),
    }
}
