//! When a link is to act: by the step count, or by what a function finds.

use serde::{Deserialize, Serialize};

use crate::axis::Aggregated;
use crate::extent::Global;
use crate::tracer::Tracer;
use crate::value::Predicate;

/// What [`conditionally_transform`](crate::conditionally_transform()) and [`conditionally_mask`](crate::conditionally_mask()) ask at
/// each step: a [`StepCondition`], or a function of the [`Tracer`].
///
/// # Example
/// Steps are taken while the loss is below 10.
/// ```
/// use pergrad_transforms::prelude::*;
/// let sane = |cx: &mut Tracer| cx.extra("loss").lt(10.0);
/// let program = program(&chain((mean(), conditionally_mask(adam(1e-3), sane)))).unwrap();
/// assert_eq!(program.extras()[0].name, "loss");
/// ```
pub trait Condition {
    /// Whether the link is to act.
    fn holds(&self, cx: &mut Tracer) -> Predicate<Aggregated, Global>;
}

impl<F: Fn(&mut Tracer) -> Predicate<Aggregated, Global>> Condition for F {
    fn holds(&self, cx: &mut Tracer) -> Predicate<Aggregated, Global> {
        self(cx)
    }
}

/// A condition on the number of steps taken before, 0 at the first. In serde data `{"step_lt": 3}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepCondition {
    /// In the first steps, while the count is below this.
    StepLt(u32),
    /// Once the count has reached this.
    StepGe(u32),
    /// When the count is a multiple of this, 0 too. Of 0 only 0 is a multiple.
    StepMultipleOf(u32),
}

/// In the first `n` steps.
pub fn step_lt(n: u32) -> StepCondition {
    StepCondition::StepLt(n)
}

/// After the first `n` steps.
pub fn step_ge(n: u32) -> StepCondition {
    StepCondition::StepGe(n)
}

/// At the first step and every `n`th after it.
pub fn step_multiple_of(n: u32) -> StepCondition {
    StepCondition::StepMultipleOf(n)
}

impl Condition for StepCondition {
    fn holds(&self, cx: &mut Tracer) -> Predicate<Aggregated, Global> {
        match *self {
            Self::StepLt(n) => cx.step().lt(f64::from(n)),
            Self::StepGe(n) => cx.step().ge(f64::from(n)),
            Self::StepMultipleOf(n) => {
                let phase = cx.slot::<Global>("phase", 0.0);
                let before = phase.before();
                let next = &before + 1.0;
                let next = next.equal(f64::from(n)).select(0.0, next);
                cx.set(phase, &next);
                before.equal(0.0)
            }
        }
    }
}

pub(super) const EXPECTED: &str = "a condition on the steps, such as {\"step_lt\": 3}, {\"step_ge\": 3} or {\"step_multiple_of\": 3}";
