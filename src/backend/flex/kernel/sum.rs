//! A reduction over the examples of a tile, row by row.

use pergrad_transforms::program::Binary;

use super::loops::{self, Arg};
use super::{Job, Number};
use crate::kernel::{Code, Reach, Reduce, Taken};

/// A reduction over the examples of a tile under way.
pub(super) struct Sum<E> {
    pub(super) taken: Taken,
    reduce: Reduce,
    /// Whether it reads an input as it is, several rows at once.
    pub(super) takes_four: bool,
    total: Vec<E>,
    /// The rows since the last flush, for sums.
    pub(super) block: Vec<E>,
    /// All rows, column by column, for reductions that sort.
    kept: Vec<E>,
    examples: usize,
}

impl<E: Number> Sum<E> {
    pub(super) fn new(
        job: &Job<'_, E>,
        taken: Taken,
        reduce: Reduce,
        width: usize,
        examples: usize,
    ) -> Self {
        let of = job.kernel.at(taken.of);
        let adds = reduce == Reduce::Sum;
        Self {
            taken,
            reduce,
            takes_four: adds
                && matches!(of.code, Code::Input(_))
                && job.product(of.code).is_none()
                && of.reach == Reach::Full,
            total: vec![E::zero(); width],
            block: vec![E::zero(); if adds { width } else { 0 }],
            kept: vec![E::zero(); if reduce.sorts() { width * examples } else { 0 }],
            examples,
        }
    }

    /// Takes a row, the one at this position.
    pub(super) fn take(&mut self, arch: pulp::Arch, x: Arg<'_, E>, at: usize) {
        match self.reduce {
            Reduce::Sum => loops::add(arch, self.taken.by, x, &mut self.block),
            Reduce::Max | Reduce::Min if at == 0 => {
                loops::add(arch, None, x, &mut self.total);
            }
            Reduce::Max => loops::extreme(arch, Binary::Max, x, &mut self.total),
            Reduce::Min => loops::extreme(arch, Binary::Min, x, &mut self.total),
            Reduce::Median | Reduce::TrimmedMean(_) => {
                let columns = self.kept.chunks_exact_mut(self.examples);
                for (column, kept) in columns.enumerate() {
                    kept[at] = match x {
                        Arg::Each(x) => x[column],
                        Arg::All(x) => x,
                    };
                }
            }
        }
    }

    /// Adds the rows since the last time to the total.
    pub(super) fn flush(&mut self, arch: pulp::Arch) {
        if self.reduce == Reduce::Sum {
            loops::add(arch, None, Arg::Each(&self.block), &mut self.total);
            self.block.fill(E::zero());
        }
    }

    pub(super) fn finish(mut self, examples: usize) -> Vec<E> {
        if self.reduce.sorts() {
            let columns = self.kept.chunks_exact_mut(examples);
            for (out, kept) in self.total.iter_mut().zip(columns) {
                *out = sorted(self.reduce, kept);
            }
        }
        self.total
    }
}

/// A reduction that looks at all values of a column in order. NaN if one is.
#[allow(clippy::cast_precision_loss)] // batches are below 2^53
fn sorted<E: Number>(reduce: Reduce, values: &mut [E]) -> E {
    if values.iter().any(|x| x.is_nan()) {
        return E::nan();
    }
    let order = |x: &E, y: &E| x.partial_cmp(y).expect("no NaN");
    let count = |n: usize| <E as num_traits::NumCast>::from(n).expect("floats hold counts");
    match reduce {
        Reduce::Median => {
            let half = values.len() / 2;
            let odd = values.len() % 2 == 1;
            let (below, &mut middle, _) = values.select_nth_unstable_by(half, order);
            if odd {
                middle
            } else {
                // Halved first: the sum may overflow.
                let before = below.iter().copied().fold(E::neg_infinity(), E::max);
                before / count(2) + middle / count(2)
            }
        }
        Reduce::TrimmedMean(k) => {
            values.sort_unstable_by(order);
            let kept = &values[k..values.len() - k];
            let blocks = kept
                .chunks(64)
                .map(|block| block.iter().fold(E::zero(), |sum, &x| sum + x));
            let sum = blocks.fold(E::zero(), |sum, block| sum + block);
            sum / count(kept.len())
        }
        Reduce::Sum | Reduce::Max | Reduce::Min => unreachable!("they need no order"),
    }
}
