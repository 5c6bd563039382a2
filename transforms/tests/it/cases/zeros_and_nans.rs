//! Zeros, overflow and numbers that are none.

use pergrad_transforms::Transform;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{StepInput, StepOutput};

use crate::model::{add_leaf, batch, step, steps, w};
use crate::tolerance::{Tolerated, assert_close};

fn run<T: Tolerated>(
    chain: &impl Transform<pergrad_transforms::PerExample>,
    input: &StepInput,
) -> StepOutput {
    step::<T>(&program(chain).unwrap(), input)
}

/// optax#1752
#[test]
fn case_01_clip_at_zero_norm_and_zero_bound() {
    fn check<T: Tolerated>() {
        let input = batch([[0.0, 0.0], [3.0, 4.0]]);
        let rows = |bound: f64| run::<T>(&clip_per_example(bound), &input);
        for (bound, expected, clipped) in [
            (5.0, [0.0, 0.0, 3.0, 4.0], 0.0), // the norm is the bound
            (1.0, [0.0, 0.0, 0.6, 0.8], 1.0),
            (0.0, [0.0; 4], 1.0),
            (f64::INFINITY, [0.0, 0.0, 3.0, 4.0], 0.0),
        ] {
            let output = rows(bound);
            assert_close::<T>(w(&output), &expected, "clipped rows");
            assert_eq!(output.metrics["clip_per_example.num_clipped"], [clipped]);
        }
        assert_eq!(w(&rows(5.0)), [0.0, 0.0, 3.0, 4.0], "unchanged, to the bit");
        let sum = run::<T>(&chain((clip_per_example(1.0), sum())), &input);
        assert_close::<T>(w(&sum), &[0.6, 0.8], "clipped sum");
    }
    check::<f32>();
    check::<f64>();
    assert!(program(&clip_per_example(-1.0)).is_err());
}

#[test]
fn case_01_batch_level_clip_at_zero_norm_and_zero_bound() {
    fn check<T: Tolerated>() {
        let clipped = |bound: f64, g: [f64; 2]| {
            let output = run::<T>(&chain((mean(), clip_by_global_norm(bound))), &batch([g]));
            w(&output).to_vec()
        };
        assert_eq!(clipped(0.0, [0.0, 0.0]), [0.0, 0.0]);
        assert_eq!(clipped(0.0, [3.0, 4.0]), [0.0, 0.0]);
        assert_eq!(clipped(5.0, [3.0, 4.0]), [3.0, 4.0]);
        assert_eq!(clipped(f64::INFINITY, [3.0, 4.0]), [3.0, 4.0]);
        assert_close::<T>(&clipped(1.0, [3.0, 4.0]), &[0.6, 0.8], "batch clip");
    }
    check::<f32>();
    check::<f64>();
    assert!(program(&chain((mean(), clip_by_global_norm(-1.0)))).is_err());
}

#[test]
fn case_01_siblings_of_clipping_keep_a_zero_example_at_zero() {
    let input = batch([[0.0, 0.0], [3.0, 4.0]]);
    let zero_row = |chain: &dyn Fn() -> StepOutput| w(&chain())[..2].to_vec();
    for row in [
        zero_row(&|| run::<f32>(&normalize_per_example(), &input)),
        zero_row(&|| run::<f32>(&normalize_per_example().per_leaf(), &input)),
        zero_row(&|| run::<f32>(&clip_per_example(0.0).per_leaf(), &input)),
        zero_row(&|| run::<f32>(&clip_per_example(0.0).per_leaf_by_size(), &input)),
        zero_row(&|| run::<f32>(&clip_per_example(0.0).drop_nonfinite(true), &input)),
    ] {
        assert_eq!(row, [0.0, 0.0]);
    }
}

#[test]
fn clipping_twice_equals_clipping_once() {
    let input = batch([[0.1, 0.2], [3.0, 4.0], [-5.0, 12.0]]);
    let once = run::<f64>(&clip_per_example(1.0), &input);
    let twice = run::<f64>(
        &chain((clip_per_example(1.0), clip_per_example(1.0))),
        &input,
    );
    assert_close::<f64>(w(&twice), w(&once), "clipped twice");
}

/// maxtext#5143. In f16 the norm is taken in f32; here the f32 rows, whose squares leave f32.
#[test]
fn case_05_norms_whose_squares_leave_f32() {
    let large = batch([[300.0, 400.0]]);
    assert_close::<f32>(
        w(&run::<f32>(&clip_per_example(1.0), &large)),
        &[0.6, 0.8],
        "norm 500",
    );

    let huge = batch([[1e20, 1.0]]);
    assert_eq!(w(&run::<f32>(&clip_per_example(1.0), &huge)), [0.0, 0.0]);
    assert_eq!(w(&run::<f32>(&normalize_per_example(), &huge)), [0.0, 0.0]);
    let global = chain((mean(), clip_by_global_norm(1.0)));
    assert_eq!(w(&run::<f32>(&global, &huge)), [0.0, 0.0]);
    assert_close::<f64>(
        w(&run::<f64>(&clip_per_example(1.0), &huge)),
        &[1.0, 1e-20],
        "f64 has the range",
    );

    let tiny = batch([[1e-30, 0.0]]);
    let as_f32 = f64::from(1e-30_f32);
    assert_eq!(w(&run::<f32>(&clip_per_example(1.0), &tiny)), [as_f32, 0.0]);
    assert_eq!(
        w(&run::<f32>(&normalize_per_example(), &tiny)),
        [f64::INFINITY, 0.0],
        "it shows"
    );
    let guarded = run::<f32>(&normalize_per_example().eps(1e-8), &tiny);
    assert_close::<f32>(w(&guarded), &[1e-22, 0.0], "guarded by eps");
    assert_close::<f64>(
        w(&run::<f64>(&normalize_per_example(), &tiny)),
        &[1.0, 0.0],
        "f64 has the range",
    );
}

/// jax-privacy's `nan_safe`
#[test]
fn case_06_a_bad_example_is_dropped_and_counted() {
    let input = batch([[1.0, 1.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0]]);
    let dropping = chain((clip_per_example(1.0).drop_nonfinite(true), sum()));
    let output = run::<f32>(&dropping, &input);
    assert_close::<f32>(w(&output), &[0.5_f64.sqrt(); 2], "the good example");
    assert_eq!(output.metrics["clip_per_example.num_nonfinite"], [2.0]);
}

#[test]
fn case_06_a_bad_example_shows_unless_it_is_dropped() {
    let clipped = chain((clip_per_example(1.0), sum()));
    let with_nan = batch([[1.0, 1.0], [f64::NAN, 1.0]]);
    assert!(
        w(&run::<f32>(&clipped, &with_nan))
            .iter()
            .all(|x| x.is_nan())
    );
    let with_infinity = batch([[1.0, 1.0], [f64::INFINITY, 1.0]]);
    let output = run::<f32>(&clipped, &with_infinity);
    assert!(w(&output)[0].is_nan(), "infinity times 0");
    assert_close::<f32>(&w(&output)[1..], &[0.5_f64.sqrt()], "where it is finite");
}

#[test]
fn case_06_a_nan_in_one_leaf_shows_in_all_leaves() {
    let mut input = batch([[f64::NAN], [1.0]]);
    add_leaf(&mut input, "v", &[1], 2, vec![1.0, 1.0]);
    for output in [
        run::<f64>(&clip_per_example(10.0), &input),
        run::<f64>(&normalize_per_example(), &input),
    ] {
        let v = &output.updates["v"].values;
        assert!(v[0].is_nan(), "the NaN is in the same example");
        assert!(v[1].is_finite(), "the other example is good");
    }
}

#[test]
fn case_06_a_nan_passes_the_global_clip() {
    let output = run::<f64>(
        &chain((mean(), clip_by_global_norm(1.0))),
        &batch([[f64::NAN, 3.0]]),
    );
    assert!(w(&output)[0].is_nan());
}

/// optax#1754, #1784, #1789: no update without a gradient, at any step.
#[test]
fn case_02_zero_gradients_give_zero_updates() {
    fn check<T: Tolerated>(name: &str, chain: &impl Transform<pergrad_transforms::PerExample>) {
        let inputs = vec![batch([[0.0, 0.0], [0.0, 0.0]]); 3];
        for output in steps::<T>(&program(chain).unwrap(), &inputs) {
            assert!(w(&output).iter().all(|x| *x == 0.0), "{name}: {output:?}");
        }
    }
    macro_rules! check {
        ($($chain:expr),* $(,)?) => { $(
            check::<f32>(stringify!($chain), &$chain);
            check::<f64>(stringify!($chain), &$chain);
        )* };
    }
    check![
        adam(0.1),
        adam(0.1).eps(0.0),
        adam(0.1).nesterov(true).eps_root(0.0),
        adamw(0.1), // the parameters are zeros
        lion(0.1),
        sgd(0.1).momentum(0.9),
        sign_sgd(0.1).beta(0.9),
        sign_ema(0.1),
        micro_sign_sgd(0.1),
        micro_adam(0.1).eps(0.0),
        micro_adam_var(0.1).eps(0.0),
        micro_adam_msq(0.1).eps(0.0),
        adam_interpolation(0.1, 1.0, 1.0).eps(0.0),
        chain((mean(), reciprocal())),
        chain((mean(), power(-0.5))),
    ];
}
