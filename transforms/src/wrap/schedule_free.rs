//! Averages of the parameters in place of a learning rate schedule.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::error::Error;
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::runner::{HostTensor, HostTree};
use crate::spec::{Argument, Entry, Family, Link};
use crate::state::State;
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "schedule_free",
    family: Family::Wrapper,
    summary: "z <- z + links(g); x <- (1 - c) * x + c * z; p <- b1 * x + (1 - b1) * z",
    reference: "Defazio et al., 2024, arXiv 2405.15682",
    arguments: &[
        Argument::required("links"),
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("weight_lr_power", "2"),
    ],
    build: |args| {
        let link = schedule_free(
            args.aggregated_links("links")?,
            args.hyper("learning_rate")?,
        );
        Ok(Link::aggregated(link.read(args)?))
    },
};

/// Averages of the parameters in place of a learning rate schedule. Built by [`schedule_free`].
#[derive(Clone, Debug)]
pub struct ScheduleFree<T> {
    inner: T,
    learning_rate: Hyper,
    b1: Hyper,
    weight_lr_power: Hyper,
}

/// Lets `inner` move one sequence of parameters, z, averages it into another, x, and takes the gradients between the two, at
/// `p = b1 * x + (1 - b1) * z`, which are the parameters of the model.
///
/// The average gives step t the weight `max(learning_rate so far)^weight_lr_power`. `learning_rate` is that of `inner`, told once
/// more; a schedule is evaluated at the number of steps *after* this one, as in optax. Defaults: b1 0.9, weight_lr_power 2.
/// `inner` needs no momentum: b1 is in its place.
///
/// Evaluate the model with x, which [`schedule_free_eval_params`] computes from the parameters and the state.
///
/// # State
/// `schedule_free.z`, in the shape of the parameters: the parameters at the first step. `schedule_free.weight_sum`, `.max_lr` and
/// `.count`, which the host keeps.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | all learning rates so far 0 | x stays |
/// | b1 0 | x cannot be told from the parameters: an error |
///
/// # Errors
/// `b1` must be above 0 and at most 1; `learning_rate` and `weight_lr_power` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let optimizer = chain((mean(), schedule_free(sgd(0.5), 0.5)));
/// assert!(optimizer_program(&optimizer).is_ok());
/// ```
///
/// # Reference
/// Defazio et al., 2024, arXiv 2405.15682, algorithm 1.
pub fn schedule_free<T>(inner: T, learning_rate: impl Into<Hyper>) -> ScheduleFree<T> {
    ScheduleFree {
        inner,
        learning_rate: learning_rate.into(),
        b1: 0.9.into(),
        weight_lr_power: 2.0.into(),
    }
}

impl<T> ScheduleFree<T> {
    hyper_setters! {
        /// The share of x in the parameters of the model.
        b1;
        /// The power of the learning rate in the weight of a step.
        weight_lr_power;
    }

    /// Takes what a specification says.
    pub(super) fn read(mut self, args: &mut crate::spec::Arguments<'_>) -> Result<Self, Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("weight_lr_power", &mut self.weight_lr_power)?;
        Ok(self)
    }
}

impl<In, T> Transform<In> for ScheduleFree<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let grads = x.reduced();
        // Optax counts from 1 here.
        let count = cx.slot::<Global>("count", 1.0);
        let rate = cx.hyper_at(
            "learning_rate",
            &self.learning_rate,
            Domain::NonNegative,
            &count,
        );
        let b1 = cx.hyper("b1", &self.b1, Domain::PositiveShare);
        let power = cx.hyper(
            "weight_lr_power",
            &self.weight_lr_power,
            Domain::NonNegative,
        );
        let next = count.before() + 1.0;
        cx.set(count, &next);
        let largest = cx.state::<Global>("max_lr", 0.0, |before| before.max(rate));
        let weight = largest.pow(power);
        let sum = cx.state::<Global>("weight_sum", 0.0, |sum| sum + &weight);
        // All weights are 0 in a warm-up from 0.
        let share = weight.div_or_zero(sum);

        let params = cx.params();
        let slot = cx.slot::<Leaf>("z", 0.0);
        let step = cx.apply(&self.inner, grads);
        let before = cx.step().equal(0.0).select(&params, slot.before());
        cx.set(slot, &(&before + &step));
        // p_next - p with x = (p - (1 - b1) * z) / b1 put in: without the difference of two parameters, and without b1 below.
        let rest = b1 * (1.0 - &share);
        let update = (before - params) * share + step * (1.0 - rest);
        update.as_input()
    }
}

/// The parameters to evaluate a model with that is trained by [`schedule_free`]: `(p - (1 - b1) * z) / b1`.
///
/// # Errors
/// [`Error::State`] if the state has no such link, or is of other parameters.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// use pergrad_transforms::reference::Reference;
/// use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
/// use pergrad_transforms::{Dtype, LeafInfo, ParamTree, schedule_free_eval_params};
///
/// let chain = chain((mean(), schedule_free(sgd(0.5), 0.5)));
/// let leaf = LeafInfo { path: "w".into(), shape: vec![1], dtype: Dtype::F64 };
/// let tree = ParamTree::new(vec![leaf]).unwrap();
/// let mut reference = Reference::<f64>::new(&program(&chain).unwrap(), &tree).unwrap();
/// let mut input = StepInput::default();
/// input.params.insert("w".into(), HostTensor::new([1], [2.0]));
/// input.grads.insert("w".into(), HostTensor::new([1, 1], [1.0]));
/// let update = reference.step(&input).unwrap().updates["w"].values[0];
/// input.params.get_mut("w").unwrap().values[0] += update;
/// // The first step has all the weight, so x is z.
/// let eval = schedule_free_eval_params(&reference.state(), &input.params).unwrap();
/// assert_eq!(eval["w"].values, [1.5]);
/// ```
pub fn schedule_free_eval_params(state: &State, params: &HostTree) -> Result<HostTree, Error> {
    let missing = |what: String| Error::State {
        differences: vec![format!(
            "{what} is missing: the chain has no link `schedule_free`"
        )],
    };
    let b1 = state
        .hypers
        .iter()
        .find(|(name, _)| name == "schedule_free.b1");
    let (_, b1) = b1.ok_or_else(|| missing("`schedule_free.b1`".to_owned()))?;
    let b1 = b1.at(state.step.saturating_sub(1));
    let eval = |(path, p): (&String, &HostTensor)| {
        let z = state
            .get("schedule_free.z", Some(path))
            .filter(|z| z.shape == p.shape);
        let z = z.ok_or_else(|| missing(format!("`schedule_free.z` of leaf `{path}`")))?;
        let values = p.values.iter().zip(&z.values);
        let values = values.map(|(p, z)| (p - (1.0 - b1) * z.0) / b1);
        Ok((
            path.clone(),
            HostTensor::new(p.shape.clone(), values.collect::<Vec<_>>()),
        ))
    };
    if state.step == 0 {
        return Ok(params.clone());
    }
    params.iter().map(eval).collect()
}
