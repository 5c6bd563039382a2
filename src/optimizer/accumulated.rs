//! A batch that comes in parts: one after the other, or one on each of several devices.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use pergrad_transforms::program::Merge;
use pergrad_transforms::random::normals;
use pergrad_transforms::{Hyper, ParamTree};

use super::{Extras, Optimizer, Rejected};
use crate::error::Error;
use crate::exec::engine::{Engine, Wanted};
use crate::exec::merge::merge;
use crate::fingerprint::fingerprint;
use crate::grads::PerExampleGrads;
use crate::model::ModelLeaves;

/// What a chain has taken of a part of a batch, by [`Optimizer::accumulate`]. Parts merge, in any order and of any sizes, into what the
/// whole batch would have given.
///
/// It holds one tensor of the size of the model for each reduction of the chain, and two for a variance.
#[derive(Clone, Debug)]
pub struct Accumulated {
    pub(crate) examples: usize,
    pub(crate) merges: Vec<Merge>,
    /// For each of `merges`, for each leaf or once.
    pub(crate) values: Vec<Vec<Tensor<2>>>,
    /// The metrics of each example, for each leaf or once: `[B, 1]` or `[B, P]`.
    apart: BTreeMap<String, Vec<Tensor<2>>>,
    belongs: Belongs,
}

/// What parts must agree on.
#[derive(Clone, Debug, PartialEq)]
struct Belongs {
    /// What is computed of a part, metrics too.
    part: String,
    hypers: Vec<Hyper>,
    step: u64,
    tree: ParamTree,
    device: Device,
    /// A number for the keys of its noise, which the text of the chain does not show.
    noise: u64,
}

impl Belongs {
    fn check(&self, other: &Self) -> Result<(), Error> {
        let what = if self.part != other.part {
            "another chain"
        } else if self.hypers != other.hypers {
            "the chain with other hyper-parameters"
        } else if self.tree != other.tree {
            "a model with other leaves"
        } else if self.noise != other.noise {
            "the chain with another seed"
        } else if self.step != other.step {
            "another step of the optimizer"
        } else if self.device != other.device {
            "another device"
        } else {
            return Ok(());
        };
        Err(Error::OtherPart { what })
    }
}

impl Accumulated {
    /// Where it lies.
    pub(crate) fn device(&self) -> &Device {
        &self.belongs.device
    }

    /// A number that replicas of one optimizer have in common.
    pub(crate) fn replica(&self) -> u64 {
        let Belongs {
            part,
            hypers,
            step,
            tree,
            noise,
            device: _,
        } = &self.belongs;
        fingerprint(&format!("{part} {hypers:?} {step} {tree:?} {noise}"))
    }

    /// How many examples it has taken.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Takes another part. Its examples come after those that are here.
    ///
    /// # Errors
    /// A part that another chain gave, or the same one at another step, of another model or on another device; then nothing has
    /// changed.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        self.belongs.check(&other.belongs)?;
        let counts = [self.examples, other.examples];
        let mine = std::mem::take(&mut self.values);
        self.values = merge(&self.merges, counts, mine, other.values);
        self.examples += other.examples;
        for (mine, other) in self.apart.values_mut().zip(other.apart.into_values()) {
            let both = std::mem::take(mine).into_iter().zip(other);
            *mine = both.map(|(x, y)| Tensor::cat(vec![x, y], 0)).collect();
        }
        Ok(())
    }
}

impl Optimizer {
    /// What the chain takes of a part of the batch: its reductions over these examples. Model and state stay as they are.
    ///
    /// [`Accumulated::merge`] puts parts together and [`step_accumulated`](Self::step_accumulated) takes the step. The result is that of
    /// the whole batch, but for the order in which sums are rounded, also where the examples are squared, signed or clipped before
    /// they are reduced, and whatever the sizes of the parts.
    ///
    /// # Errors
    /// [`Error::Whole`](pergrad_transforms::Error::Whole), naming the link, for a chain that needs the whole batch at once: a median, a
    /// trimmed mean, products of examples with each other, or something of each example that depends on a statistic of the
    /// batch. Gradients that do not fit the model.
    ///
    /// # Example
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pergrad::prelude::*;
    /// use pergrad::{Optimizer, nn::Linear, per_example_grads};
    ///
    /// let device = Device::default().autodiff();
    /// let model = Linear::new(&LinearConfig::new(3, 1), &device);
    /// let mut optimizer = Optimizer::new(micro_adam(0.1)).unwrap();
    /// let mut part = || {
    ///     let x = Tensor::<2>::random([8, 3], Distribution::Default, &device);
    ///     let (_, grads) = per_example_grads(&model, |m| m.forward(x).flatten(0, 1)).unwrap();
    ///     optimizer.accumulate(&model, grads).unwrap()
    /// };
    /// let mut batch = part();
    /// batch.merge(part()).unwrap();
    /// assert_eq!(batch.examples(), 16);
    /// let model = optimizer.step_accumulated(model, batch).unwrap();
    /// assert_eq!(optimizer.steps_taken(), 1);
    /// ```
    pub fn accumulate<M: Module>(
        &mut self,
        model: &M,
        grads: PerExampleGrads,
    ) -> Result<Accumulated, Error> {
        self.accumulate_with(model, grads, &Extras::new())
    }

    /// The same, with the named inputs that the chain reads before it reduces: one number for each example of this part, and numbers.
    ///
    /// # Errors
    /// What [`accumulate`](Self::accumulate) says, and inputs that do not fit.
    pub fn accumulate_with<M: Module>(
        &mut self,
        model: &M,
        grads: PerExampleGrads,
        extras: &Extras,
    ) -> Result<Accumulated, Error> {
        let merges = self.engine.in_parts()?.merges.clone();
        let examples = grads.examples();
        let forms = |leaves: &ModelLeaves| grads.forms_for(leaves);
        let prepared = self.prepare(model, examples, forms, extras, Wanted::Part)?;
        drop(grads);
        let names: Vec<String> = {
            let outputs = prepared.inputs.program.outputs();
            outputs.iter().map(|output| output.name.clone()).collect()
        };
        let mut values = self.engine.part(prepared.inputs, prepared.forms);
        let apart = values.split_off(merges.len());
        Ok(Accumulated {
            examples,
            values,
            apart: names.into_iter().skip(merges.len()).zip(apart).collect(),
            merges,
            belongs: self.belongs()?,
        })
    }

    /// The new model, from all parts of the batch.
    ///
    /// # Errors
    /// Parts of another chain, step or model, or a batch that is too small; [`Rejected`] gives model and parts back.
    #[allow(clippy::type_complexity)]
    pub fn step_accumulated<M: Module>(
        &mut self,
        model: M,
        batch: Accumulated,
    ) -> Result<M, Box<Rejected<M, Accumulated>>> {
        self.step_accumulated_with(model, batch, &Extras::new())
    }

    /// The same, with the numbers that the chain reads after it has reduced.
    ///
    /// # Errors
    /// What [`step_accumulated`](Self::step_accumulated) says, and inputs that do not fit.
    #[allow(clippy::type_complexity)]
    pub fn step_accumulated_with<M: Module>(
        &mut self,
        model: M,
        batch: Accumulated,
        extras: &Extras,
    ) -> Result<M, Box<Rejected<M, Accumulated>>> {
        let forms = |_: &ModelLeaves| Ok(Vec::new());
        let prepared = self.prepare(&model, batch.examples, forms, extras, Wanted::Merged);
        let prepared = prepared.and_then(|it| {
            self.belongs()?.check(&batch.belongs)?;
            Ok(it)
        });
        match prepared {
            Ok(prepared) => {
                let engine =
                    |engine: &mut _, inputs, _| Engine::step_merged(engine, inputs, batch.values);
                let model = self.replace_by(model, prepared, engine);
                self.metrics.extend(batch.apart);
                Ok(model)
            }
            Err(error) => Err(Rejected::new(error, model, batch)),
        }
    }

    /// A number for the keys of the noise: made of numbers that no step ever uses, it tells nothing of them.
    fn noise(&self) -> u64 {
        let streams = self.engine.program().streams().iter();
        let probes = streams.map(|stream| normals(&stream.key, u64::MAX, usize::MAX, 0..4));
        fingerprint(&format!("{:?}", probes.collect::<Vec<_>>()))
    }

    fn belongs(&self) -> Result<Belongs, Error> {
        let (step, tree, device) = self.engine.stamp();
        Ok(Belongs {
            part: self.engine.program_of(Wanted::Part)?.to_string(),
            hypers: self.engine.hypers().to_vec(),
            step,
            tree,
            device,
            noise: self.noise(),
        })
    }
}
