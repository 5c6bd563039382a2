//! The value of a node at one leaf, in the shape in which it is cheapest to hold.

use std::rc::Rc;

use pergrad_transforms::program::{Fold, Unary};

use super::deferred::{self, Deferred, Expression};
use super::factored::{Factors, Kept};
use super::ops::{self, Mask, Matrix};
use super::reduce;
use super::settings::Settings;

/// The value of a node.
#[derive(Clone)]
pub(super) enum Cell {
    /// In full: `[B or 1, P or 1]`.
    Number(Matrix),
    /// `[B, P]` in factors.
    Factors(Box<Factors>),
    /// `[B, P]` to be computed some columns at a time.
    Deferred(Deferred),
    /// A predicate in full.
    Mask(Mask),
    /// A predicate to be computed some columns at a time.
    DeferredMask(Deferred),
}

impl Cell {
    /// A number in full.
    pub(super) fn into_dense(self) -> Matrix {
        match self {
            Self::Number(x) => x,
            Self::Factors(x) => x.into_dense(),
            Self::Deferred(x) => x.into_dense(),
            Self::Mask(_) | Self::DeferredMask(_) => unreachable!("programs are type-checked"),
        }
    }

    /// The value when its factors no longer tell it: in full if that is small, else deferred.
    pub(super) fn leave_factors(self, settings: &Settings) -> Self {
        match self {
            Self::Factors(x) if deferred::is_small(&x, settings) => Self::Number(x.into_dense()),
            Self::Factors(x) => Self::Deferred(Deferred::new(x, settings)),
            other => other,
        }
    }

    /// What the factors tell, if it is in factors and they do; else `rest` of the value that has left them.
    pub(super) fn told<T>(
        self,
        settings: &Settings,
        told: impl FnOnce(Box<Factors>) -> Kept<T>,
        rest: impl FnOnce(Self) -> T,
    ) -> T {
        match self {
            Self::Factors(x) => match told(x) {
                Ok(told) => told,
                Err(x) => rest(Self::Factors(x).leave_factors(settings)),
            },
            x => rest(x),
        }
    }

    /// A function of each element.
    pub(super) fn unary(self, f: Unary, settings: &Settings) -> Self {
        self.told(
            settings,
            |x| x.unary(f).map(Self::Factors),
            |x| match x {
                Self::Deferred(x) => Self::Deferred(x.then(|x| Expression::Unary(f, x))),
                x => Self::Number(ops::unary(f, x.into_dense())),
            },
        )
    }

    /// `[R, P] -> [R, 1]`, of a leaf of P elements.
    pub(super) fn over_elements(self, fold: Fold, size: usize, settings: &Settings) -> Matrix {
        self.told(
            settings,
            |x| x.over_elements(fold, settings.norm_method),
            |x| match x {
                Self::Deferred(x) => x.over_elements(fold),
                x => {
                    let x = x.into_dense();
                    let rows = x.dims()[0];
                    reduce::over_elements(fold, ops::expand(x, [rows, size]))
                }
            },
        )
    }

    /// The deferred value that this is.
    pub(super) fn deferred(&self) -> Option<&Deferred> {
        match self {
            Self::Deferred(x) | Self::DeferredMask(x) => Some(x),
            _ => None,
        }
    }

    /// The value as a part of a deferred one.
    pub(super) fn into_expression(self) -> Rc<Expression> {
        match self {
            Self::Number(x) => Rc::new(Expression::Number(x)),
            Self::Mask(x) => Rc::new(Expression::Mask(x)),
            Self::Factors(x) => Rc::new(Expression::Factors(x)),
            Self::Deferred(x) | Self::DeferredMask(x) => x.expression(),
        }
    }
}
