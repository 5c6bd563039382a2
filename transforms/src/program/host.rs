//! The scalars of the host: values that depend on no tensor, computed in f64, and the state that is made of them.

use super::{Binary, Fold, Number, Op, Program, SlotId, Stream};
use crate::error::Error;
use crate::extent::ExtentKind;
use crate::hyper::Hyper;

/// What the host knows before a step.
#[derive(Clone, Copy, Debug)]
pub struct HostInputs<'a> {
    /// Steps taken before this one.
    pub step: u64,
    /// The number of examples B.
    pub batch: usize,
    /// The value of each hyper-parameter at this step.
    pub hypers: &'a [f64],
    /// The number of elements of each leaf.
    pub leaf_sizes: &'a [usize],
    /// For each selector, whether each leaf is selected.
    pub selected: &'a [Vec<bool>],
}

/// The host scalars of one step: for each node either nothing, or a number (for each leaf).
#[derive(Clone, Debug)]
pub struct HostScalars {
    values: Vec<Option<Vec<f64>>>,
}

impl HostScalars {
    /// Computes every node of `program` that depends on no tensor. Predicates are 1 or 0.
    pub fn compute(program: &Program, inputs: &HostInputs<'_>) -> Self {
        Self::compute_knowing(program, inputs, &[])
    }

    /// The same, where the host knows what some slots hold before the step, at least [those that are its
    /// own](Program::host_slots).
    pub fn compute_knowing(
        program: &Program,
        inputs: &HostInputs<'_>,
        slots: &[Option<f64>],
    ) -> Self {
        let mut values: Vec<Option<Vec<f64>>> = Vec::with_capacity(program.nodes().len());
        for node in program.nodes() {
            let value = match node.op {
                Op::State(at) => slots.get(at as usize).copied().flatten().map(|x| vec![x]),
                Op::Normal(at) => {
                    let (stream, leaves) =
                        (&program.streams()[at as usize], inputs.leaf_sizes.len());
                    program.host_normals(stream, inputs.step, slots, leaves)
                }
                op => evaluate(op, &values, inputs),
            };
            values.push(value);
        }
        Self { values }
    }

    /// The number at a node for a leaf, if the host knows it.
    pub fn get(&self, node: super::NodeId, leaf: usize) -> Option<f64> {
        let values = self.values[node.index()].as_ref()?;
        Some(if values.len() == 1 {
            values[0]
        } else {
            values[leaf]
        })
    }

    /// The same for a predicate.
    pub fn get_predicate(&self, node: super::NodeId, leaf: usize) -> Option<bool> {
        self.get(node, leaf).map(|x| x != 0.0)
    }

    /// Whether the host knows the value of a node.
    pub fn knows(&self, node: super::NodeId) -> bool {
        self.values[node.index()].is_some()
    }
}

#[allow(clippy::cast_precision_loss)] // counts below 2^53
fn evaluate(op: Op, values: &[Option<Vec<f64>>], inputs: &HostInputs<'_>) -> Option<Vec<f64>> {
    let value = |id: super::NodeId| values[id.index()].as_ref();
    let map =
        |a: super::NodeId, f: &dyn Fn(f64) -> f64| Some(value(a)?.iter().map(|&x| f(x)).collect());
    let flag = |holds: bool| f64::from(u8::from(holds));
    match op {
        Op::Grads | Op::Params | Op::Extra(_) | Op::State(_) | Op::Normal(_) => None,
        Op::OverExamples(..) | Op::OverElements(..) | Op::Gram(_) | Op::OverPairs(..) => None,
        Op::PairProduct(..) | Op::Transpose(_) => None,
        Op::AlongAxes(..) | Op::Product3(..) => None,
        Op::Step => Some(vec![inputs.step as f64]),
        Op::BatchSize => Some(vec![inputs.batch as f64]),
        Op::LeafSize => Some(per_leaf(inputs.leaf_sizes.iter().map(|&n| n as f64))),
        Op::Const(Number(x)) => Some(vec![x]),
        Op::Hyper(at) => Some(vec![inputs.hypers[at as usize]]),
        Op::Selected(at) => Some(per_leaf(
            inputs.selected[at as usize].iter().map(|&s| flag(s)),
        )),
        Op::Unary(f, a) => map(a, &|x| f.apply(x)),
        Op::Test(f, a) => map(a, &|x| flag(f.apply(x))),
        Op::Not(a) => map(a, &|x| flag(x == 0.0)),
        Op::Binary(f, a, b) => Some(zip(value(a)?, value(b)?, |x, y| f.apply(x, y))),
        Op::Compare(f, a, b) => Some(zip(value(a)?, value(b)?, |x, y| flag(f.apply(x, y)))),
        Op::And(a, b) => Some(zip(value(a)?, value(b)?, |x, y| flag(x != 0.0 && y != 0.0))),
        Op::Select(c, a, b) => {
            let chosen = zip(value(c)?, value(a)?, |c, x| if c != 0.0 { x } else { 0.0 });
            let other = zip(value(c)?, value(b)?, |c, y| if c != 0.0 { 0.0 } else { y });
            Some(zip(&chosen, &other, |x, y| Binary::Add.apply(x, y)))
        }
        Op::OverLeaves(f, a) => {
            let leaves = inputs.leaf_sizes.len();
            let value = value(a)?;
            let all = (0..leaves).map(|leaf| value[leaf.min(value.len() - 1)]);
            Some(vec![match f {
                Fold::Sum => all.sum(),
                Fold::Max => all.fold(0.0, |x, y| Binary::Max.apply(x, y)),
            }])
        }
    }
}

/// A value for each leaf is never of length 0, so that length 1 can mean "all leaves".
fn per_leaf(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    if values.is_empty() { vec![0.0] } else { values }
}

fn zip(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let at = |v: &[f64], i: usize| if v.len() == 1 { v[0] } else { v[i] };
    (0..a.len().max(b.len()))
        .map(|i| f(at(a, i), at(b, i)))
        .collect()
}

impl Program {
    /// For each slot, whether it is of the host: one number over all leaves, which depends on no tensor at any step, such as a
    /// counter. An executor keeps these in f64 and gives them to [`HostScalars::compute_knowing`]; after the step they hold the
    /// host scalar at [`Slot::next`](super::Slot::next).
    pub fn host_slots(&self) -> Vec<bool> {
        let slots = self.slots().iter();
        let mut of_host: Vec<bool> = slots.map(|s| s.extent == ExtentKind::Global).collect();
        // A slot that falls out may take others with it.
        loop {
            let known = self.known_with(&of_host);
            let slots = self.slots().iter().zip(&of_host);
            let next: Vec<bool> = slots
                .map(|(slot, of_host)| *of_host && known[slot.next.index()])
                .collect();
            if next == of_host {
                return of_host;
            }
            of_host = next;
        }
    }

    /// For each node, whether the host knows it, given whose the slots are.
    fn known_with(&self, of_host: &[bool]) -> Vec<bool> {
        let mut known: Vec<bool> = Vec::with_capacity(self.nodes().len());
        for node in self.nodes() {
            known.push(match node.op {
                Op::State(at) => of_host[at as usize],
                Op::Normal(at) => {
                    let Stream { extent, count, .. } = &self.streams()[at as usize];
                    *extent != ExtentKind::Leaf && count.is_none_or(|at| of_host[at as usize])
                }
                Op::Grads | Op::Params | Op::Extra(_) => false,
                Op::OverExamples(..) | Op::OverElements(..) => false,
                Op::Gram(_) | Op::OverPairs(..) => false,
                Op::PairProduct(..) | Op::Transpose(_) => false,
                Op::AlongAxes(..) | Op::Product3(..) => false,
                op => op.operands().all(|id| known[id.index()]),
            });
        }
        known
    }

    /// The slots that are not of the host, but count the steps of a hyper-parameter that is now a schedule, or of random numbers:
    /// an executor must read them before the step. Few programs have any: those with a schedule or with noise inside a guard that
    /// depends on the gradients.
    pub fn slots_to_read(&self, hypers: &[Hyper]) -> Vec<SlotId> {
        let hypers = self.hypers().iter().zip(hypers);
        let scheduled = hypers.filter(|(_, now)| now.is_schedule());
        let mut counts: Vec<SlotId> = scheduled.filter_map(|(slot, _)| slot.count).collect();
        counts.extend(self.streams().iter().filter_map(|stream| stream.count));
        if counts.is_empty() {
            // Asked at every step; whose the slots are need not be found out for that.
            return counts;
        }
        let of_host = self.host_slots();
        counts.retain(|at| !of_host[*at as usize]);
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The value of each hyper-parameter at a step, checked against what makes sense for it.
    ///
    /// # Errors
    /// [`Error::Hyper`] if a schedule gives a value that makes no sense; [`Error::UnknownCount`] if one is evaluated at a count
    /// of its own.
    pub fn hyper_values(&self, hypers: &[Hyper], step: u64) -> Result<Vec<f64>, Error> {
        self.hyper_values_knowing(hypers, step, &[])
    }

    /// The same, where the host knows what some slots hold before the step: [its own](Self::host_slots), and [those it must
    /// read](Self::slots_to_read).
    ///
    /// # Errors
    /// [`Error::Hyper`] if a schedule gives a value that makes no sense; [`Error::UnknownCount`] if one is evaluated at a count
    /// that is not known.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts are whole and not negative
    pub fn hyper_values_knowing(
        &self,
        hypers: &[Hyper],
        step: u64,
        slots: &[Option<f64>],
    ) -> Result<Vec<f64>, Error> {
        let value = |(slot, hyper): (&super::HyperSlot, &Hyper)| {
            let known = |at: SlotId| slots.get(at as usize).copied().flatten();
            let step = match slot.count {
                Some(at) if hyper.is_schedule() => {
                    let count = known(at).ok_or_else(|| Error::UnknownCount {
                        name: slot.name.clone(),
                        count: self.slots()[at as usize].name.clone(),
                    })?;
                    count as u64
                }
                _ => step,
            };
            let value = hyper.at(step);
            slot.domain.check(&slot.name, value)?;
            Ok(value)
        };
        self.hypers().iter().zip(hypers).map(value).collect()
    }

    /// For each [selection](Self::selectors), whether each leaf of a model is selected.
    ///
    /// # Errors
    /// A selection that does not fit the model.
    pub fn select(&self, tree: &crate::ParamTree) -> Result<Vec<Vec<bool>>, Error> {
        self.selectors().iter().map(|s| s.select(tree)).collect()
    }
}
