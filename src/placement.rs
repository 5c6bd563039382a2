//! What is known of the gradients of single examples, coordinate by coordinate, and where a sign is best placed.

use std::ops::Range;

use burn::tensor::Tensor;
use pergrad_transforms::placement::{self, PlacementPrediction};
use pergrad_transforms::prelude::{chain, coordinate_statistics, mean};

use crate::capture::numbers;
use crate::error::Error;
use crate::exec::engine::{Engine, Wanted};
use crate::grads::PerExampleGrads;

/// Predicts the signal-to-noise ratio of an update for each place of a sign, from the gradients of one batch: for batches of as many
/// examples, and a moving average that forgets by `beta`.
///
/// One batch of B examples cannot tell a ratio below `1 / sqrt(B)` from noise: average over several with [`GradientStatistics`].
///
/// # Errors
/// Less than two examples; a gradient that is NaN or infinite; a `beta` that is not at least 0 and below 1.
///
/// # Example
/// ```
/// use burn::tensor::Tensor;
/// use pergrad::transforms::placement::SignPlacement;
/// use pergrad::{PerExampleGrads, predict_placement};
///
/// let g = Tensor::<2>::from_floats([[1.0, -3.0], [0.0, 1.0], [2.0, -1.0]], &Default::default());
/// let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
/// let predicted = predict_placement(&grads, 0.9).unwrap();
/// assert_eq!(predicted.total.quantile(1.0), 1.0); // mean 1, variance 1
/// assert_eq!(predicted.total.quantile(0.0), 0.5); // mean -1, variance 4
/// assert_eq!(predicted.leaf("w").unwrap().typical.order()[0], SignPlacement::SignEma);
/// ```
pub fn predict_placement(
    grads: &PerExampleGrads,
    beta: f64,
) -> Result<PlacementPredictions, Error> {
    GradientStatistics::of(grads)?.predict(grads.examples(), beta)
}

/// What [`predict_placement`] says of each leaf and of all together.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementPredictions {
    /// Of all coordinates.
    pub total: PlacementPrediction,
    /// Of each leaf, by its path.
    pub leaves: Vec<(String, PlacementPrediction)>,
}

impl PlacementPredictions {
    /// What is predicted for a leaf, if there is such a leaf.
    pub fn leaf(&self, path: &str) -> Option<&PlacementPrediction> {
        let found = self.leaves.iter().find(|(known, _)| known == path);
        found.map(|(_, prediction)| prediction)
    }
}

/// The mean and the unbiased variance of each coordinate over examples, of one batch or several.
///
/// They are those of the link [`coordinate_statistics`](pergrad_transforms::coordinate_statistics()), whatever form the gradients are
/// held in.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientStatistics {
    examples: usize,
    leaves: Vec<(String, Range<usize>)>,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl GradientStatistics {
    /// Of one batch.
    ///
    /// # Errors
    /// Less than two examples, or no leaves.
    pub fn of(grads: &PerExampleGrads) -> Result<Self, Error> {
        // The mean, which the statistics have anyway: else the gradients themselves were the result, in full.
        let program = pergrad_transforms::program(&chain((coordinate_statistics(), mean())))?;
        let tree = grads.tree()?;
        let forms = grads.forms();
        let device = forms.first().ok_or(Error::NothingTrained)?.device();
        let mut engine = Engine::new(program);
        engine.bind(&tree, &device)?;
        // The link reads no parameters; they say how large the leaves are.
        let params = tree.sizes().into_iter().zip(&forms);
        let params = params.map(|(size, form)| Tensor::zeros([1, size], (&device, form.dtype())));
        let inputs = engine.inputs(Wanted::Updates, grads.examples(), params.collect(), vec![])?;
        let outputs = engine.step(inputs, forms);
        let metric = |name: &str| {
            let named = outputs.names.iter().zip(&outputs.outputs);
            let mut cells = named.filter(|(known, _)| *known == name);
            let (_, cells) = cells.next().expect("the link gives it out");
            let mut values = Vec::new();
            for cell in cells {
                values.extend(numbers(cell.to_data())?);
            }
            Ok::<_, Error>(values)
        };
        let mut end = 0;
        let leaves = tree.leaves().iter().map(|leaf| {
            let start = end;
            end += leaf.size();
            (leaf.path.clone(), start..end)
        });
        Ok(Self {
            examples: grads.examples(),
            leaves: leaves.collect(),
            mean: metric("coordinate_statistics.mean")?,
            variance: metric("coordinate_statistics.variance")?,
        })
    }

    /// Adds what another batch, or several, have shown: after it the statistics are those of all examples (Chan, Golub and LeVeque,
    /// 1979).
    ///
    /// # Errors
    /// Statistics of other leaves; then nothing has changed.
    #[allow(clippy::cast_precision_loss)] // no one sees 2^53 examples
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if self.leaves != other.leaves {
            return Err(Error::OtherLeaves {
                expected: sizes(&self.leaves),
                got: sizes(&other.leaves),
            });
        }
        let (ours, theirs) = (self.examples as f64, other.examples as f64);
        let all = ours + theirs;
        let theirs_of = other.mean.iter().zip(&other.variance);
        let ours_of = self.mean.iter_mut().zip(&mut self.variance);
        for ((mean, variance), (their_mean, their_variance)) in ours_of.zip(theirs_of) {
            let apart = their_mean - *mean;
            let squares = *variance * (ours - 1.0) + their_variance * (theirs - 1.0);
            *variance = (squares + apart * apart * ours * theirs / all) / (all - 1.0);
            *mean += apart * theirs / all;
        }
        self.examples += other.examples;
        Ok(())
    }

    /// How many examples they are of.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// The mean of each coordinate, leaf after leaf.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The unbiased variance of each coordinate, leaf after leaf.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// The paths of the leaves, with the place of each in [`mean`](Self::mean) and [`variance`](Self::variance).
    pub fn leaves(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.leaves
            .iter()
            .map(|(path, range)| (path.as_str(), range.clone()))
    }

    /// Predicts the ratios of an update for batches of `batch` examples, which may be others than these, and a moving average that
    /// forgets by `beta`. See [`placement::predict_placement`].
    ///
    /// # Errors
    /// A statistic that is NaN or infinite; `batch` 0; a `beta` that is not at least 0 and below 1.
    pub fn predict(&self, batch: usize, beta: f64) -> Result<PlacementPredictions, Error> {
        let predict = |range: Range<usize>| {
            let (mean, variance) = (&self.mean[range.clone()], &self.variance[range]);
            placement::predict_placement(mean, variance, batch, beta)
        };
        let leaves = self
            .leaves
            .iter()
            .map(|(path, range)| Ok((path.clone(), predict(range.clone())?)));
        Ok(PlacementPredictions {
            total: predict(0..self.mean.len())?,
            leaves: leaves.collect::<Result<_, Error>>()?,
        })
    }
}

fn sizes(leaves: &[(String, Range<usize>)]) -> Vec<String> {
    let leaves = leaves.iter();
    leaves
        .map(|(path, range)| format!("{path} of {}", range.len()))
        .collect()
}
