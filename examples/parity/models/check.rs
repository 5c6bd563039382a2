//! Comparing a model with its case.

use std::ops::Range;

use burn::tensor::Tensor;
use pergrad::prelude::{chain, clip_per_example, mean};
use pergrad::transforms::axis::Updates as EndsAggregated;
use pergrad::transforms::runner::{HostTensor, HostTree};
use pergrad::transforms::{Dtype, PerExample, Transform};
use pergrad::{
    Extras, Optimizer, PerExampleGrads, Updates, per_example_grads, per_example_grads_looped,
};

use super::super::compare::{Comparison, Scale, Tolerance, largest};
use super::super::golden::ModelCase;
use super::super::measure::Measure;
use super::super::report::Outcome;
use super::super::run::text;
use super::case::Network;
use super::loss::Loss;
use super::place::{Place, host};

/// What a model is checked against.
#[derive(Debug)]
pub(crate) struct Check<'a> {
    pub(crate) data: &'a ModelCase,
    pub(crate) place: &'a Place,
    pub(crate) loss: Loss,
    pub(crate) dtype: Dtype,
    pub(crate) tolerance: Tolerance,
}

type Checked = Result<(), String>;

impl Check<'_> {
    /// Captured, and one example at a time.
    pub(crate) fn run<M: Network>(&self, model: &M) -> Outcome {
        let run = |name: &str, check: fn(&Self, &M, &mut Comparison) -> Checked| {
            let mut comparison = Comparison::default();
            if let Err(error) = check(self, model, &mut comparison) {
                comparison.fail(|| error);
            }
            (format!("{name} {}", self.dtype), comparison)
        };
        Outcome::Ran(vec![
            run("captured", Self::captured),
            run("looped", Self::looped),
        ])
    }

    fn captured<M: Network>(&self, model: &M, comparison: &mut Comparison) -> Checked {
        let mut outputs = None;
        let (losses, grads) = per_example_grads(model, |model| {
            let y = model.forward(&self.data.inputs, self.place);
            outputs = Some(y.clone().inner());
            self.loss.forward(y, &self.data.targets, self.place)
        })
        .map_err(text)?;
        let outputs = outputs.ok_or("the closure was not called")?;
        self.values(outputs, losses, &grads, comparison)?;
        self.optimized(model, &grads, comparison)
    }

    /// The model outside a capture.
    fn looped<M: Network>(&self, model: &M, comparison: &mut Comparison) -> Checked {
        let outputs = model.forward(&self.data.inputs, self.place).inner();
        let examples = self.data.losses.len();
        let (losses, grads) = per_example_grads_looped(model, examples, |model, examples| {
            let inputs = slice(&self.data.inputs, examples.clone());
            let targets = slice(&self.data.targets, examples);
            let y = model.forward(&inputs, self.place);
            self.loss.forward(y, &targets, self.place)
        })
        .map_err(text)?;
        self.values(outputs, losses, &grads, comparison)
    }

    fn values(
        &self,
        outputs: Tensor<2>,
        losses: Tensor<1>,
        grads: &PerExampleGrads,
        comparison: &mut Comparison,
    ) -> Checked {
        self.numbers(
            "output",
            &host(outputs)?.values,
            &self.data.outputs.values,
            comparison,
        );
        self.numbers("loss", &host(losses)?.values, &self.data.losses, comparison);
        let grads = self.in_full(grads)?;
        let scale = Scale::by_leaf(&self.data.grads);
        comparison.trees("gradient", &grads, &self.data.grads, self.tolerance, &scale);
        let got = squared_norms(&grads, self.data.losses.len());
        self.numbers("squared norm", &got, &self.data.squared_norms, comparison);
        Ok(())
    }

    /// Squared norms, the mean and a clipped mean of the gradients, by optimizers: these need no gradient in full.
    fn optimized<M: Network>(
        &self,
        model: &M,
        grads: &PerExampleGrads,
        comparison: &mut Comparison,
    ) -> Checked {
        let examples = self.data.squared_norms.len();
        let all = vec![1.0; examples];
        let plain = chain((Measure::SquaredNorms, mean()));
        self.step("mean", plain, &all, model, grads, comparison)?;

        let norms: Vec<f64> = self.data.squared_norms.iter().map(|q| q.sqrt()).collect();
        // Some are longer and some shorter, unless all have one length.
        let bound = 0.75 * largest(&norms);
        let factors: Vec<f64> = norms.iter().map(|n| (bound / n).min(1.0)).collect();
        let clipped = chain((Measure::SquaredNorms, clip_per_example(bound), mean()));
        self.step("clipped mean", clipped, &factors, model, grads, comparison)
    }

    /// One step of a chain that gives out the squared norms and updates by the mean of the weighted gradients.
    fn step<M: Network, T>(
        &self,
        what: &str,
        chain: T,
        weights: &[f64],
        model: &M,
        grads: &PerExampleGrads,
        comparison: &mut Comparison,
    ) -> Checked
    where
        T: Transform<PerExample>,
        T::Out: EndsAggregated,
    {
        let mut optimizer = Optimizer::new(chain).map_err(text)?;
        let updates = optimizer.update_with(model, grads, &Extras::new());
        let updates = self.updates(&updates.map_err(text)?)?;
        let metrics = optimizer.metrics().map_err(text)?;
        let got = metrics.get("measure.value").ok_or("there is no metric")?;
        let place = format!("squared norm before {what}");
        self.numbers(&place, got, &self.data.squared_norms, comparison);
        let want = weighted_mean(&self.data.grads, weights);
        let scale = Scale::by_leaf(&want);
        comparison.trees(what, &updates, &want, self.tolerance, &scale);
        Ok(())
    }

    fn numbers(&self, what: &str, got: &[f64], want: &[f64], comparison: &mut Comparison) {
        comparison.numbers(what, got, want, self.tolerance, |_| largest(want));
    }

    fn in_full(&self, grads: &PerExampleGrads) -> Result<HostTree, String> {
        let leaves = grads.paths().map(|path| {
            let grad = match self.rank(path)? {
                1 => host(grads.leaf::<2>(path).map_err(text)?),
                2 => host(grads.leaf::<3>(path).map_err(text)?),
                _ => host(grads.leaf::<5>(path).map_err(text)?),
            };
            Ok((path.to_owned(), grad?))
        });
        leaves.collect()
    }

    fn updates(&self, updates: &Updates) -> Result<HostTree, String> {
        let leaves = self.data.params.keys().map(|path| {
            let update = match self.rank(path)? {
                1 => host(updates.leaf::<1>(path).map_err(text)?),
                2 => host(updates.leaf::<2>(path).map_err(text)?),
                _ => host(updates.leaf::<4>(path).map_err(text)?),
            };
            Ok((path.clone(), update?))
        });
        leaves.collect()
    }

    /// The rank of a parameter.
    fn rank(&self, path: &str) -> Result<usize, String> {
        let param = self.data.params.get(path);
        let param = param.ok_or_else(|| format!("the case has no parameter `{path}`"))?;
        Ok(param.shape.len())
    }
}

/// Some examples.
fn slice(x: &HostTensor, examples: Range<usize>) -> HostTensor {
    let mut shape = x.shape.clone();
    shape[0] = examples.len();
    let size: usize = shape[1..].iter().product();
    HostTensor::new(shape, &x.values[examples.start * size..examples.end * size])
}

fn squared_norms(grads: &HostTree, examples: usize) -> Vec<f64> {
    let of = |example: usize| {
        let leaves = grads.values();
        let leaves = leaves.map(|grad| slice(grad, example..example + 1).values);
        leaves.flatten().map(|x| x * x).sum()
    };
    (0..examples).map(of).collect()
}

fn weighted_mean(grads: &HostTree, weights: &[f64]) -> HostTree {
    let leaves = grads.iter().map(|(path, grad)| {
        let mut mean = HostTensor::zeros(&grad.shape[1..]);
        for (example, weight) in weights.iter().enumerate() {
            let grad = slice(grad, example..example + 1);
            for (sum, g) in mean.values.iter_mut().zip(grad.values) {
                *sum += weight * g / weights.len() as f64;
            }
        }
        (path.clone(), mean)
    });
    leaves.collect()
}
