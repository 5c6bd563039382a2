//! Whether the captured gradients of a model are right, by computing them a second time one example at a time.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Tensor, TensorData};

use super::{per_example_grads, per_example_grads_looped};
use crate::error::Error;
use crate::grads::form::Form;

/// How well captured and looped gradients agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// For the losses and each leaf, the largest difference, relative to the largest element of the same example.
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
/// Differences are relative to the largest element of the example in the leaf (at least a thousandth of its largest in any leaf);
/// `tolerance` is 1e-5 or so for f32 and 1e-12 for f64.
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
    let (captured_losses, captured) = per_example_grads(model, |m| losses(m, 0..examples))?;
    let (looped_losses, looped) = per_example_grads_looped(model, examples, &losses)?;
    let leaves = crate::model::ModelLeaves::of(model)?;
    let (captured, looped) = (captured.forms_for(&leaves)?, looped.forms_for(&leaves)?);
    let mut agreement = Agreement {
        leaves: Vec::new(),
        tolerance,
    };
    let mut worst: Option<(f64, String, usize)> = None;
    let dense = |forms: Vec<Form>| -> Result<Vec<Vec<f64>>, Error> {
        let forms = forms.into_iter();
        forms
            .map(|form| numbers(form.into_dense().into_data()))
            .collect()
    };
    let (captured, looped) = (dense(captured)?, dense(looped)?);
    // A gradient that is 0 by algebra, as that of a key bias of attention, is rounding alone: it is measured by the largest elements
    // of the example, a thousandth of them.
    let row = |leaf: &Vec<f64>, example: usize| {
        let size = leaf.len() / examples.max(1);
        largest(&leaf[example * size..(example + 1) * size])
    };
    let floors: Vec<f64> = (0..examples)
        .map(|example| {
            looped
                .iter()
                .map(|leaf| row(leaf, example))
                .fold(0.0, f64::max)
        })
        .map(|largest| largest * 1e-3)
        .collect();
    let mut compare = |name: &str, ours: &[f64], theirs: &[f64]| {
        let size = (theirs.len() / examples.max(1)).max(1);
        let mut leaf_worst = 0.0;
        // Each example by its own scale: a large one must not hide that a small one is wrong.
        for (example, (ours, theirs)) in ours.chunks(size).zip(theirs.chunks(size)).enumerate() {
            let difference = difference(ours, theirs, floors[example]);
            leaf_worst = f64::max(leaf_worst, difference);
            if worst.as_ref().is_none_or(|(known, ..)| difference > *known) {
                worst = Some((difference, name.to_owned(), example));
            }
        }
        agreement.leaves.push((name.to_owned(), leaf_worst));
    };
    let losses = [captured_losses, looped_losses].map(|losses| numbers(losses.into_data()));
    let [ours, theirs] = losses;
    compare("the losses", &ours?, &theirs?);
    for ((info, ours), theirs) in leaves.tree.leaves().iter().zip(captured).zip(looped) {
        compare(&info.path, &ours, &theirs);
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

/// The largest finite element.
fn largest(x: &[f64]) -> f64 {
    let finite = x.iter().filter(|x| x.is_finite());
    finite.fold(0.0, |m, x| m.max(x.abs()))
}

/// The largest difference, relative to the largest finite element or the floor; infinite where one side is NaN or infinite and the other is not.
fn difference(ours: &[f64], theirs: &[f64], floor: f64) -> f64 {
    let largest = largest(theirs).max(floor);
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let differences = ours.iter().zip(theirs).map(|(x, y)| {
        if x == y || (x.is_nan() && y.is_nan()) {
            return 0.0;
        }
        let difference = (x - y).abs() / scale;
        if difference.is_nan() {
            f64::INFINITY
        } else {
            difference
        }
    });
    differences.fold(0.0, f64::max)
}

/// The elements as f64.
pub(crate) fn numbers(data: TensorData) -> Result<Vec<f64>, Error> {
    data.convert::<f64>()
        .try_to_vec()
        .map_err(|error| Error::Read(format!("{error:?}")))
}
