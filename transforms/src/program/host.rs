//! The scalars of the host: values that depend on no tensor, computed in f64.

use super::{Binary, Fold, Number, Op, Program};
use crate::error::Error;

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
        let mut values: Vec<Option<Vec<f64>>> = Vec::with_capacity(program.nodes().len());
        for node in program.nodes() {
            let value = evaluate(node.op, &values, inputs);
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
        Op::Grads | Op::Params | Op::Extra(_) | Op::State(_) | Op::OverExamples(..) => None,
        Op::AlongAxes(..) | Op::Product3(..) => None,
        Op::OverElements(..) | Op::Gram(_) | Op::OverPairs(..) | Op::Transpose(_) => None,
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
    /// The value of each hyper-parameter at a step, checked against what makes sense for it.
    ///
    /// # Errors
    /// [`Error::Hyper`] if a schedule gives a value that makes no sense.
    pub fn hyper_values(
        &self,
        hypers: &[crate::hyper::Hyper],
        step: u64,
    ) -> Result<Vec<f64>, Error> {
        self.hypers()
            .iter()
            .zip(hypers)
            .map(|(slot, hyper)| {
                let value = hyper.at(step);
                slot.domain.check(&slot.name, value)?;
                Ok(value)
            })
            .collect()
    }
}
