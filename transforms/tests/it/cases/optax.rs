//! The conventions of optax's optimizers, by the numbers of public trackers.

use pergrad_transforms::prelude::*;
use pergrad_transforms::{PerExample, Program};

use crate::model::{batch, column, steps, w};

fn updates<T: pergrad_transforms::reference::Element>(
    chain: &impl Transform<PerExample>,
    gradients: &[f64],
) -> Vec<f64> {
    let program: Program = program(chain).unwrap();
    let inputs: Vec<_> = gradients.iter().map(|g| column(&[*g])).collect();
    let outputs = steps::<T>(&program, &inputs);
    outputs.iter().map(|output| w(output)[0]).collect()
}

#[track_caller]
fn assert_near(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (g, e) in got.iter().zip(expected) {
        assert!(
            (g - e).abs() <= 1e-7 * e.abs(),
            "{got:?} is not {expected:?}"
        );
    }
}

#[test]
fn case_17_eps_stands_outside_in_adam_and_inside_in_rms() {
    let adam_1e_8 = [-0.099_999_999_0, -0.096_518_202_0, 0.006_659_901_5];
    assert_near(&updates::<f64>(&adam(0.1), &[1.0, 2.0, -3.0]), &adam_1e_8);
    let adam_1e_5 = [-0.099_999_000_0, -0.096_517_592_2, 0.006_659_870_7];
    assert_near(
        &updates::<f64>(&adam(0.1).eps(1e-5), &[1.0, 2.0, -3.0]),
        &adam_1e_5,
    );
    let small = |eps: f64| updates::<f64>(&adam(0.1).eps(eps), &[1e-6])[0];
    assert!((small(1e-8) + 0.099_009_9).abs() < 1e-7);
    assert!((small(1e-5) + 0.009_090_9).abs() < 1e-7);

    let rms = |link| updates::<f64>(&chain((mean(), link)), &[1e-6]);
    assert_near(&rms(scale_by_rms()), &[0.009_999_950_0]);
    assert_near(&rms(scale_by_rms().eps_in_sqrt(false)), &[3.065_343_3]);
}

/// optax#1389, #1423; candle#3284
#[test]
fn case_18_the_largest_of_debiased_averages_or_of_raw_ones() {
    let gradients = [10.0, 0.1, 0.1];
    assert_near(
        &updates::<f64>(&amsgrad(0.1), &gradients)[1..],
        &[-0.047_894_736_8, -0.030_590_405_9],
    );
    assert_near(
        &updates::<f64>(&amsgrad(0.1).max_of_raw(true), &gradients)[1..],
        &[-0.067_716_450_9, -0.052_957_647_3],
    );
}

#[test]
fn case_36_the_boundary_of_joined_schedules_belongs_to_the_later_one() {
    use pergrad_transforms::schedule::{constant_schedule, join_schedules};
    let rate = join_schedules([constant_schedule(1.0), linear_schedule(0.5, 0.0, 2)], [2]);
    let steps = updates::<f64>(&sgd(rate), &[-1.0; 5]);
    assert_eq!(steps, [1.0, 1.0, 0.5, 0.25, 0.0]);
}

/// burn#630
#[test]
fn case_37_the_first_debiased_average_is_the_gradient() {
    fn check<T: pergrad_transforms::reference::Element>() {
        let average = |link| updates::<T>(&chain((mean(), link)), &[3.0])[0];
        assert!((average(ema(0.9)) - 3.0).abs() < 1e-6);
        assert!((average(ema(0.9).debias(false)) - 0.3).abs() < 1e-6);
        assert!((average(ema(0.999)) - 3.0).abs() < 1e-6);
    }
    check::<f32>();
    check::<f64>();
}

/// optax#1414, #583, #1532: 0.999 is 1 in bf16. Hyper-parameters are f64 whatever the gradients are, so a step of f32 loses nothing.
#[test]
fn case_03_a_decay_of_0_999_is_not_1_in_f32() {
    for first in [
        updates::<f32>(&adam(0.1).b2(0.999), &[1.0])[0],
        updates::<f32>(&amsgrad(0.1), &[1.0])[0],
        updates::<f32>(&adamax(0.1), &[1.0])[0],
        updates::<f32>(&radam(0.1).b2(0.9).threshold(0.0), &[1.0])[0],
    ] {
        assert!((first + 0.1).abs() < 1e-3, "{first}");
    }
}

/// Where optax has NaN and should not, see also the list of differences in the golden tests.
#[test]
fn zeros_stay_zeros_where_optax_has_nan() {
    let zeros = batch([[0.0, 0.0]]);
    let of = |program: Program| w(&steps::<f64>(&program, &vec![zeros.clone(); 2])[1]).to_vec();
    assert_eq!(
        of(program(&chain((mean(), normalize()))).unwrap()),
        [0.0; 2]
    );
    assert_eq!(of(program(&prodigy()).unwrap()), [0.0; 2]);
    assert_eq!(of(program(&dadapt_adamw()).unwrap()), [0.0; 2]);
    let clip = chain((mean(), clip_by_block_rms(0.0)));
    assert_eq!(of(program(&clip).unwrap()), [0.0; 2]);
}

#[test]
fn a_nan_leaves_apply_every_with_its_sum() {
    let every = chain((mean(), apply_every(2)));
    let got = updates::<f64>(&every, &[f64::NAN, 1.0, 2.0, 3.0]);
    assert_eq!(got[0], 0.0);
    assert!(got[1].is_nan());
    assert_eq!(got[2..], [0.0, 5.0]);
}

#[test]
fn rprop_steps_at_once_and_late_as_optax() {
    let gradients = [1.0, 2.0, -1.0, -1.0];
    let at_once = updates::<f64>(&rprop(0.1), &gradients);
    assert_near(&at_once[..2], &[-0.1, -0.12]);
    assert_eq!(at_once[2], 0.0, "the sign has changed");
    assert_near(&at_once[3..], &[0.06]);
    let late = updates::<f64>(&rprop(0.1).late(true), &gradients);
    assert_eq!(late[0], 0.0);
    assert_near(&late[1..2], &[-0.1]);
}

/// The surprise is `g - m` with the average after the step.
#[test]
fn acprop_centers_with_the_average_after_the_step() {
    let steps = updates::<f64>(&acprop(0.1), &[1.0, 0.5]);
    // The first gradient passes; then the denominator is |1 - 0.1|.
    assert_near(&steps, &[-0.1, -0.05 / 0.9]);
}

#[test]
fn radam_takes_a_threshold_below_4_for_4() {
    let gradients = [1.0, 2.0, 0.5, 1.0, 1.0];
    let low = radam(0.1).b2(0.99).threshold(2.0);
    let got = updates::<f64>(&low, &gradients);
    let four = updates::<f64>(&radam(0.1).b2(0.99).threshold(4.0), &gradients);
    assert!(got.iter().all(|x| x.is_finite()), "{got:?}");
    assert_eq!(got, four);
}
