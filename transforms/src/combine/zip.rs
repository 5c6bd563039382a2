//! Two statistics of one input, joined by a function.

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::axis::{Aggregated, Axis, PerExample};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// Two links that read the same input. Not a link yet: [`map`](Zip::map) says how their results meet.
#[derive(Clone, Debug)]
pub struct Zip<Left, Right> {
    left: Left,
    right: Right,
}

/// Two links that read the same input; [`Zip::map`] joins their results.
///
/// # Example
/// The signal-to-noise ratio of each coordinate, `mean / standard deviation`:
/// ```
/// use pergrad_transforms::prelude::*;
/// let snr = zip(mean(), variance(1).then(sqrt())).map(|mean, std| mean.abs().div_or_zero(std));
/// let text = program(&snr).unwrap().to_string();
/// assert!(text.contains("variance_B(ddof=1) g"));
/// ```
pub fn zip<Left, Right>(left: Left, right: Right) -> Zip<Left, Right> {
    Zip { left, right }
}

impl<Left, Right> Zip<Left, Right> {
    /// Joins two statistics in the shape of the parameters by ordinary arithmetic on values.
    pub fn map<F>(self, join: F) -> ZipMap<Left, Right, F, Aggregated>
    where
        F: Fn(Value<Aggregated>, Value<Aggregated>) -> Value<Aggregated>,
    {
        ZipMap {
            both: self,
            join,
            axis: PhantomData,
        }
    }

    /// Joins two per-example results by ordinary arithmetic on values.
    pub fn map_per_example<F>(self, join: F) -> ZipMap<Left, Right, F, PerExample>
    where
        F: Fn(Value<PerExample>, Value<PerExample>) -> Value<PerExample>,
    {
        ZipMap {
            both: self,
            join,
            axis: PhantomData,
        }
    }
}

/// Two results of one input, joined by a function. Built by [`Zip::map`] and [`Zip::map_per_example`].
#[derive(Clone)]
pub struct ZipMap<Left, Right, F, Out> {
    both: Zip<Left, Right>,
    join: F,
    axis: PhantomData<Out>,
}

impl<Left, Right, F, Out> std::fmt::Debug for ZipMap<Left, Right, F, Out>
where
    Left: std::fmt::Debug,
    Right: std::fmt::Debug,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ZipMap").field(&self.both).finish()
    }
}

impl<In, Left, Right, F, Out> Transform<In> for ZipMap<Left, Right, F, Out>
where
    In: Axis,
    Out: Axis,
    Left: Transform<In, Out = Out>,
    Right: Transform<In, Out = Out>,
    F: Fn(Value<Out>, Value<Out>) -> Value<Out>,
{
    type Out = Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Out> {
        let left = cx.apply(&self.both.left, x.clone());
        let right = cx.apply(&self.both.right, x);
        (self.join)(left, right)
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}
