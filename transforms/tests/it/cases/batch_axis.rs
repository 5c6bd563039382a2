//! The batch axis: where it is, how long it is, and what changes with it.

use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
use pergrad_transforms::{Error, ParamTree, PerExample, Program, Transform};

use crate::model::{add_leaf, batch, column, leaf, reference, step, steps, w};
use crate::random::Random;
use crate::tolerance::{Tolerated, assert_close};

fn refused(program: &Program, tree: &ParamTree, input: &StepInput) -> String {
    let mut reference = Reference::<f64>::new(program, tree).unwrap();
    reference.step(input).unwrap_err().to_string()
}

/// opacus#158, #216, #650
#[test]
fn case_20_batch_axis_that_is_not_the_first() {
    let mean = program(&mean()).unwrap();
    let tree = ParamTree::new(vec![leaf("w", &[3])]).unwrap();
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[3], 2, vec![0.0; 6]);
    input.grads.get_mut("w").unwrap().shape = vec![3, 2];
    insta::assert_snapshot!(refused(&mean, &tree, &input), @"the gradient of `w` must have the shape [B, 3], but it has [3, 2]: the batch must be axis 0, but it looks as if it were the last axis");
    input.grads.insert("w".into(), HostTensor::zeros([3]));
    insta::assert_snapshot!(refused(&mean, &tree, &input), @"the gradient of `w` must have the shape [B, 3], but it has [3]: this looks like an aggregated gradient; give one for each example, or use an optimizer for aggregated gradients");
}

#[test]
fn case_20_leaves_of_unequal_leading_size() {
    let tree = ParamTree::new(vec![leaf("a", &[1]), leaf("b", &[1])]).unwrap();
    let mut input = StepInput::default();
    add_leaf(&mut input, "a", &[1], 3, vec![0.0; 3]);
    add_leaf(&mut input, "b", &[1], 2, vec![0.0; 2]);
    insta::assert_snapshot!(refused(&program(&mean()).unwrap(), &tree, &input), @"leaf `b` has 2 examples (axis 0), but leaf `a` has 3: the batch is axis 0 of every leaf, and all must have the same length");
}

/// opacus#161, #612
#[test]
fn case_22_empty_batch() {
    let empty = batch::<0, 2>([]);
    let zeros = |chain: &dyn Fn() -> Program| w(&step::<f32>(&chain(), &empty)).to_vec();
    assert_eq!(zeros(&|| program(&sum()).unwrap()), [0.0, 0.0]);
    assert_eq!(zeros(&|| program(&majority()).unwrap()), [0.0, 0.0]);
    let clipped = chain((clip_per_example(1.0), sum()));
    assert_eq!(zeros(&|| program(&clipped).unwrap()), [0.0, 0.0]);

    fn error(chain: &impl Transform<PerExample>) -> Error {
        let empty = batch::<0, 2>([]);
        let program = program(chain).unwrap();
        reference::<f32>(&program, &empty).step(&empty).unwrap_err()
    }
    for (error, name, least) in [
        (error(&mean()), "mean", 1),
        (error(&max()), "max", 1),
        (error(&min()), "min", 1),
        (error(&median()), "median", 1),
        (error(&trimmed_mean(2)), "trimmed_mean", 5),
        (error(&variance(0)), "variance", 1),
        (error(&variance(1)), "variance", 2),
        (error(&batch_mean()), "batch_mean", 1),
        (error(&adam(0.1)), "adam.batch_mean", 1),
    ] {
        let expected = Error::TooFewExamples {
            link: name.to_owned(),
            needs: least,
            got: 0,
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn case_22_a_refused_batch_leaves_the_state_as_it_was() {
    let adam = program(&adam(0.1)).unwrap();
    let good = batch([[1.0, 2.0]]);
    let mut reference = reference::<f64>(&adam, &good);
    reference.step(&good).unwrap();
    let before = reference.state();
    reference.step(&batch::<0, 2>([])).unwrap_err();
    assert_eq!(reference.state(), before);
}

#[test]
fn case_22_an_empty_batch_that_is_summed_is_a_step_with_zeros() {
    let chain = program(&chain((sum(), ema(0.5).debias(false)))).unwrap();
    let mut reference = reference::<f64>(&chain, &batch([[8.0]]));
    reference.step(&batch([[8.0]])).unwrap();
    let output = reference.step(&batch::<0, 1>([])).unwrap();
    assert_eq!(w(&output), [2.0], "the average decays");
    assert_eq!(reference.state().step, 2, "the count goes on");
}

#[test]
fn case_23_one_example() {
    fn check<T: Tolerated>() {
        let g = [3.0, -1.0];
        fn one<T: Tolerated>(chain: &impl Transform<PerExample>, g: [f64; 2]) -> Vec<f64> {
            let output = step::<T>(&program(chain).unwrap(), &batch([g]));
            assert_eq!(output.updates["w"].shape, [2], "the batch axis is gone");
            w(&output).to_vec()
        }
        assert_eq!(one::<T>(&mean(), g), g);
        assert_eq!(one::<T>(&batch_mean(), g), g);
        assert_eq!(one::<T>(&sum(), g), g);
        assert_eq!(one::<T>(&max(), g), g);
        assert_eq!(one::<T>(&min(), g), g);
        assert_eq!(one::<T>(&median(), g), g);
        assert_eq!(one::<T>(&trimmed_mean(0), g), g);
        assert_eq!(one::<T>(&majority(), g), [1.0, -1.0]);
        assert_eq!(one::<T>(&variance(0), g), [0.0, 0.0]);
        let square_first = one::<T>(&chain((square(), mean())), g);
        assert_eq!(square_first, one::<T>(&chain((mean(), square())), g));
    }
    check::<f32>();
    check::<f64>();
    for needs_two in [
        program(&variance(1)).unwrap(),
        program(&unbiased_square_of_mean()).unwrap(),
    ] {
        assert!(needs_two.check_batch(1).is_err());
        assert!(needs_two.check_batch(2).is_ok());
    }
}

/// Adam over the mean gradients, in plain numbers (Kingma and Ba, algorithm 1).
fn adam_by_hand(means: &[f64], rate: f64) -> Vec<f64> {
    let (mut m, mut v) = (0.0, 0.0);
    let mut updates = Vec::new();
    for (t, g) in (1..).zip(means) {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        let (m_hat, v_hat) = (m / (1.0 - 0.9_f64.powi(t)), v / (1.0 - 0.999_f64.powi(t)));
        updates.push(-rate * m_hat / (v_hat.sqrt() + 1e-8));
    }
    updates
}

#[test]
fn case_24_the_batch_size_changes_between_steps() {
    fn check<T: Tolerated>() {
        let mut random = Random::new(24);
        let batches: Vec<Vec<f64>> = [32, 7, 1, 32].map(|b| random.normals(b)).into();
        let means: Vec<f64> = batches
            .iter()
            .map(|g| g.iter().sum::<f64>() / g.len() as f64)
            .collect();
        let inputs: Vec<_> = batches.iter().map(|g| column(g)).collect();
        let outputs = steps::<T>(&program(&adam(0.1)).unwrap(), &inputs);
        let got: Vec<f64> = outputs.iter().map(|output| w(output)[0]).collect();
        assert_close::<T>(&got, &adam_by_hand(&means, 0.1), "Adam");
    }
    check::<f32>();
    check::<f64>();
}

/// OPTAX.md's parity vectors, which plain f64 arithmetic gives.
#[test]
fn adam_gives_the_known_updates() {
    let inputs = [1.0, 2.0, -3.0].map(|g| column(&[g]));
    let updates = |chain: &Program| -> Vec<f64> {
        let outputs = steps::<f64>(chain, &inputs);
        outputs.iter().map(|output| w(output)[0]).collect()
    };
    for (chain, expected) in [
        (
            adam(0.1),
            [-0.099_999_999_0, -0.096_518_202_0, 0.006_659_901_5],
        ),
        (
            adam(0.1).eps(1e-5),
            [-0.099_999_000_0, -0.096_517_592_2, 0.006_659_870_7],
        ),
        (
            adam(0.1).nesterov(true),
            [-0.147_368_419_6, -0.127_466_906_5, 0.055_953_332_4],
        ),
    ] {
        let got = updates(&program(&chain).unwrap());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
        }
    }
}
