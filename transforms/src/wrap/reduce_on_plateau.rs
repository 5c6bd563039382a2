//! A factor that shrinks when a value, such as the loss, no longer falls.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::Global;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "reduce_on_plateau",
    family: Family::Wrapper,
    summary: "s * g; s <- max(factor * s, min_scale) after patience means of the value that were no better",
    reference: "",
    arguments: &[
        Argument::optional("factor", "0.1"),
        Argument::optional("patience", "10"),
        Argument::optional("rtol", "1e-4"),
        Argument::optional("atol", "0"),
        Argument::optional("cooldown", "0"),
        Argument::optional("accumulation_size", "1"),
        Argument::optional("min_scale", "0"),
    ],
    build: |args| {
        let mut link = reduce_on_plateau();
        args.set_hyper("factor", &mut link.factor)?;
        args.set_hyper("patience", &mut link.patience)?;
        args.set_hyper("rtol", &mut link.rtol)?;
        args.set_hyper("atol", &mut link.atol)?;
        args.set_hyper("cooldown", &mut link.cooldown)?;
        args.set_hyper("accumulation_size", &mut link.accumulation_size)?;
        args.set_hyper("min_scale", &mut link.min_scale)?;
        Ok(Link::aggregated(link))
    },
};

/// A factor that shrinks when a value no longer falls. Built by [`reduce_on_plateau`].
#[derive(Clone, Debug)]
pub struct ReduceOnPlateau {
    factor: Hyper,
    patience: Hyper,
    rtol: Hyper,
    atol: Hyper,
    cooldown: Hyper,
    accumulation_size: Hyper,
    min_scale: Hyper,
    value: String,
}

/// Multiplies the updates by a scale that shrinks when a value, most often the loss, no longer falls.
///
/// Each step gives the value as the extra `"value"`. Its mean over `accumulation_size` steps is compared with the best one so far:
/// it is better if it is below `(1 - rtol) * best - atol`. After `patience` means in a row that are no better, the scale is
/// multiplied by `factor` (not below `min_scale`), and the next `cooldown` means are not held against it.
///
/// Defaults: factor 0.1, patience 10, rtol 1e-4, atol 0, cooldown 0, accumulation size 1, minimal scale 0.
///
/// # State
/// `reduce_on_plateau.scale`, 1 before the first step, which is also a metric; `.best`, `.plateau`, `.cooldown`, `.count` and
/// `.mean`.
///
/// # Edge cases
/// | value | result |
/// |--|--|
/// | NaN | no better than the best, so it counts towards the patience |
///
/// # Errors
/// `factor` must be from 0 to 1; `patience` and `accumulation_size` whole numbers of at least 1; the others finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = program(&chain((adam(1e-3), reduce_on_plateau().patience(5)))).unwrap();
/// assert_eq!(program.extras()[0].name, "value");
/// ```
pub fn reduce_on_plateau() -> ReduceOnPlateau {
    ReduceOnPlateau {
        factor: 0.1.into(),
        patience: 10.into(),
        rtol: 1e-4.into(),
        atol: 0.0.into(),
        cooldown: 0.into(),
        accumulation_size: 1.into(),
        min_scale: 0.0.into(),
        value: "value".to_owned(),
    }
}

impl ReduceOnPlateau {
    hyper_setters! {
        /// What the scale is multiplied by.
        factor;
        /// How many means in a row may be no better.
        patience;
        /// How much better a mean must be, as a share of the best.
        rtol;
        /// How much better a mean must be.
        atol;
        /// How many means after a reduction do not count.
        cooldown;
        /// How many values make a mean.
        accumulation_size;
        /// The smallest scale.
        min_scale;
    }

    /// The name of the extra that each step gives, `"value"` unless set.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>) -> Self {
        self.value = name.into();
        self
    }

    /// The scale that follows from a mean.
    fn judge(
        &self,
        mean: &Value<Aggregated, Global>,
        scale: Value<Aggregated, Global>,
        cx: &Tracer,
    ) -> Value<Aggregated, Global> {
        let factor = cx.hyper("factor", &self.factor, Domain::Share);
        let patience = cx.hyper("patience", &self.patience, Domain::Count);
        let rtol = cx.hyper("rtol", &self.rtol, Domain::NonNegative);
        let atol = cx.hyper("atol", &self.atol, Domain::NonNegative);
        let pause = cx.hyper("cooldown", &self.cooldown, Domain::NonNegative);
        let least = cx.hyper("min_scale", &self.min_scale, Domain::NonNegative);

        let best = cx.slot::<Global>("best", f64::INFINITY);
        let better = mean.lt(best.before() * (1.0 - rtol) - atol);
        let next = better.select(mean, best.before());
        cx.set(best, &next);

        let plateau = cx.slot::<Global>("plateau", 0.0);
        let cooldown = cx.slot::<Global>("cooldown", 0.0);
        let waited = better.select(0.0, plateau.before() + 1.0);
        let reached = waited.equal(patience);
        let cooling = cooldown.before().gt(0.0);
        cx.set(plateau, &cooling.or(&reached).select(0.0, waited));
        let left = cooldown.before() - 1.0;
        cx.set(cooldown, &cooling.select(left, reached.select(pause, 0.0)));
        let judged = reached.select(&scale * factor, &scale).max(least);
        cooling.select(scale, judged)
    }
}

impl<In: ExamplesReduced> Transform<In> for ReduceOnPlateau {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x: Value<Aggregated> = x.reduced();
        let value = cx.extra(&self.value);
        let size = cx.hyper("accumulation_size", &self.accumulation_size, Domain::Count);
        let count = cx.slot::<Global>("count", 0.0);
        let mean = cx.slot::<Global>("mean", 0.0);
        let scale = cx.slot::<Global>("scale", 1.0);

        let next = count.before() + 1.0;
        let full = next.ge(size);
        let average = (count.before() * mean.before() + value) / &next;
        let before = scale.before();
        let judged = cx.guarded(&full, |cx| self.judge(&average, before.clone(), cx));
        let now = full.select(judged, before);
        cx.set(count, &full.select(0.0, next));
        cx.set(mean, &full.select(0.0, average));
        cx.set(scale, &now);
        cx.emit("scale", &now);
        (x * now).as_input()
    }
}
