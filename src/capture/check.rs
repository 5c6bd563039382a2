//! Whether the captured gradients of a model are right, by computing them a second time one example at a time.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Tensor, TensorData};

use super::{per_example_grads, per_example_grads_looped};
use crate::error::Error;

/// How well captured and looped gradients agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// For each leaf, the largest difference, relative to the leaf's largest element.
    pub leaves: Vec<(String, f64)>,
    /// The tolerance it was compared with.
    pub tolerance: f64,
}

impl std::fmt::Display for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (path, difference) in &self.leaves {
            writeln!(
                f,
                "{path}: {difference:.1e} (tolerance {:.1e})",
                self.tolerance
            )?;
        }
        Ok(())
    }
}

/// Checks on a model of yours that [`per_example_grads`] gives what one example at a time gives.
///
/// The closure gets a range of examples and returns their losses; it is called once with all of them, and once for each.
/// Differences are relative to the largest element of the leaf; `tolerance` is 1e-5 or so for f32 and 1e-12 for f64.
///
/// # Errors
/// [`Error::Mismatch`] with the worst leaf and example, or whatever either way of computing says.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::{check_per_example_grads, nn::Linear};
///
/// let device = Device::default().autodiff();
/// let model = Linear::new(&LinearConfig::new(4, 3), &device);
/// let x = Tensor::<2>::random([5, 4], Distribution::Default, &device);
/// let losses = |m: &Linear, examples: std::ops::Range<usize>| {
///     let out = m.forward(x.clone().slice([examples]));
///     (out.clone() * out).sum_dim(1).flatten(0, 1)
/// };
/// println!("{}", check_per_example_grads(&model, 5, losses, 1e-5).unwrap());
/// ```
pub fn check_per_example_grads<M: Module>(
    model: &M,
    examples: usize,
    losses: impl Fn(&M, Range<usize>) -> Tensor<1>,
    tolerance: f64,
) -> Result<Agreement, Error> {
    let (_, captured) = per_example_grads(model, |m| losses(m, 0..examples))?;
    let (_, looped) = per_example_grads_looped(model, examples, &losses)?;
    let leaves = crate::model::ModelLeaves::of(model)?;
    let (captured, looped) = (captured.forms_for(&leaves)?, looped.forms_for(&leaves)?);
    let mut agreement = Agreement {
        leaves: Vec::new(),
        tolerance,
    };
    let mut worst: Option<(f64, String, usize)> = None;
    for ((info, ours), theirs) in leaves.tree.leaves().iter().zip(captured).zip(looped) {
        let ours = numbers(ours.into_dense().into_data())?;
        let theirs = numbers(theirs.into_dense().into_data())?;
        let largest = theirs.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let mut leaf_worst = 0.0;
        for (at, (x, y)) in ours.iter().zip(&theirs).enumerate() {
            let same = x == y || (x.is_nan() && y.is_nan());
            let difference = if same { 0.0 } else { (x - y).abs() / scale };
            // NaN on one side only is the worst difference of all.
            let difference = if difference.is_nan() {
                f64::INFINITY
            } else {
                difference
            };
            if difference > leaf_worst {
                leaf_worst = difference;
                let example = at / info.size().max(1);
                if worst.as_ref().is_none_or(|(known, ..)| leaf_worst > *known) {
                    worst = Some((leaf_worst, info.path.clone(), example));
                }
            }
        }
        agreement.leaves.push((info.path.clone(), leaf_worst));
    }
    match worst {
        Some((difference, leaf, example)) if difference > tolerance => Err(Error::Mismatch {
            leaf,
            example,
            difference,
        }),
        _ => Ok(agreement),
    }
}

/// The elements as f64.
pub(crate) fn numbers(data: TensorData) -> Result<Vec<f64>, Error> {
    data.convert::<f64>()
        .try_to_vec()
        .map_err(|error| Error::Read(format!("{error:?}")))
}
