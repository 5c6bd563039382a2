//! The sum of the gradients of k steps, every k steps.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Global;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "apply_every",
    family: Family::Aggregated,
    summary: "sum of k gradients at every k-th step, 0 between",
    reference: "",
    arguments: &[Argument::optional("k", "1")],
    build: |args| {
        let mut link = apply_every();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The sum of the gradients of k steps, every k steps. Built by [`apply_every`].
#[derive(Clone, Debug)]
pub struct ApplyEvery {
    k: usize,
}

/// Adds up the gradients and gives out the sum at every k-th step, zeros at the others. Default: k 1, which changes nothing.
///
/// The links around it run at every step, and a schedule goes on: it is not the same as a batch k times as large.
///
/// # State
/// `apply_every.sum` in the shape of the parameters, and the number `apply_every.count`.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | a NaN | in the sum of its k steps and no longer; in optax it stays for ever |
///
/// # Errors
/// `k` must be at least 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), apply_every()))).is_ok());
/// ```
pub fn apply_every() -> ApplyEvery {
    ApplyEvery { k: 1 }
}

impl ApplyEvery {
    /// After how many steps the sum is given out.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.k = args.count("k")?.unwrap_or(self.k);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ApplyEvery {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        if self.k == 0 {
            cx.fail(Error::Hyper {
                name: "apply_every.k".to_owned(),
                expected: "at least 1".to_owned(),
                got: self.k.to_string(),
            });
        }
        #[allow(clippy::cast_precision_loss)] // below 2^53
        let last = self.k as f64 - 1.0;
        let count = cx.slot::<Global>("count", 0.0);
        let begins = count.before().equal(0.0);
        let ends = count.before().ge(last);
        let next = ends.select(0.0, count.before() + 1.0);
        cx.set(count, &next);
        let sum = cx.state("sum", 0.0, |sum| begins.select(0.0, sum) + x);
        sum.keep_where(&ends, 0.0).as_input()
    }
}
