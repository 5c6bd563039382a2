//! The value of a node at one leaf, in the shape in which it is cheapest to hold.

use std::rc::Rc;

use burn::tensor::DType;

use super::deferred::{self, Deferred, Expression};
use super::factored::Factors;
use super::ops::{Mask, Matrix};
use super::settings::Settings;

/// The value of a node.
#[derive(Clone)]
pub(super) enum Cell {
    /// In full: `[B or 1, P or 1]`.
    Number(Matrix),
    /// In full, in half precision; computed with in this dtype. A kernel widens it where it reads it.
    Half(Matrix, DType),
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
            Self::Half(x, dtype) => x.cast(dtype),
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
            Self::Half(x, dtype) => Rc::new(Expression::Number(x.cast(dtype))),
            Self::Mask(x) => Rc::new(Expression::Mask(x)),
            Self::Factors(x) => Rc::new(Expression::Factors(x)),
            Self::Deferred(x) | Self::DeferredMask(x) => x.expression(),
        }
    }
}
