//! `+`, `-`, `*` and `/` between values, references to values, and literals.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Joined, Operand, Value, Widened};
use crate::axis::{Axis, Join};
use crate::extent::{Extent, Widen};
use crate::program::{Binary, Op, Unary};

macro_rules! operators {
    ($($operator:ident $method:ident;)*) => {
        $(
            impl<A, E, O> $operator<O> for Value<A, E>
            where
                A: Axis + Join<O::Axis>,
                E: Extent + Widen<O::Extent>,
                O: Operand,
            {
                type Output = Value<Joined<A, O>, Widened<E, O>>;
                fn $method(self, other: O) -> Self::Output {
                    self.binary(Binary::$operator, &other)
                }
            }

            impl<A, E, O> $operator<O> for &Value<A, E>
            where
                A: Axis + Join<O::Axis>,
                E: Extent + Widen<O::Extent>,
                O: Operand,
            {
                type Output = Value<Joined<A, O>, Widened<E, O>>;
                fn $method(self, other: O) -> Self::Output {
                    self.binary(Binary::$operator, &other)
                }
            }

            impl<A: Axis, E: Extent> $operator<Value<A, E>> for f64 {
                type Output = Value<A, E>;
                fn $method(self, other: Value<A, E>) -> Value<A, E> {
                    $operator::$method(self, &other)
                }
            }

            impl<A: Axis, E: Extent> $operator<&Value<A, E>> for f64 {
                type Output = Value<A, E>;
                fn $method(self, other: &Value<A, E>) -> Value<A, E> {
                    let left = self.node_in(&other.graph);
                    other.push(Op::Binary(Binary::$operator, left, other.node))
                }
            }
        )*
    };
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<A: Axis, E: Extent> Neg for Value<A, E> {
    type Output = Self;
    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}

impl<A: Axis, E: Extent> Neg for &Value<A, E> {
    type Output = Value<A, E>;
    fn neg(self) -> Value<A, E> {
        self.unary(Unary::Neg)
    }
}
