//! Hyper-parameters and schedules that make no sense.

use pergrad_transforms::prelude::*;
use pergrad_transforms::schedule::{CosineDecaySchedule, Schedule, WarmupCosineDecaySchedule};
use pergrad_transforms::{Error, PerExample};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// The name in the error, or nothing if the chain is fine.
fn refused(chain: &impl Transform<PerExample>) -> Option<String> {
    match program(chain) {
        Ok(_) => None,
        Err(Error::Hyper { name, .. }) => Some(name),
        Err(error) => panic!("{error}"),
    }
}

/// Asserts for `[NaN, inf, -inf, -1, 0, 1]` which are allowed.
#[track_caller]
fn assert_allowed<T: Transform<PerExample>>(
    name: &str,
    chain: impl Fn(f64) -> T,
    allowed: [bool; 6],
) {
    for (x, allowed) in [NAN, INF, -INF, -1.0, 0.0, 1.0].into_iter().zip(allowed) {
        let expected = (!allowed).then(|| name.to_owned());
        assert_eq!(refused(&chain(x)), expected, "{name} = {x}");
    }
}

const FINITE: [bool; 6] = [false, false, false, true, true, true];
const NOT_NEGATIVE: [bool; 6] = [false, false, false, false, true, true];
const BOUND: [bool; 6] = [false, true, false, false, true, true];
const DECAY: [bool; 6] = [false, false, false, false, true, false];
const SHARE: [bool; 6] = [false, false, false, false, true, true];

#[test]
fn every_constructor_refuses_what_makes_no_sense() {
    assert_allowed("scale.step_size", scale, FINITE);
    assert_allowed("add_scalar.value", add_scalar, FINITE);
    assert_allowed("at_least.bound", at_least, FINITE);
    assert_allowed("power.exponent", power, FINITE);
    assert_allowed("clip.max_delta", clip, BOUND);
    assert_allowed("clip_per_example.max_norm", clip_per_example, BOUND);
    assert_allowed(
        "normalize_per_example.eps",
        |x| normalize_per_example().eps(x),
        NOT_NEGATIVE,
    );
    assert_allowed("learning_rate", scale_by_learning_rate, NOT_NEGATIVE);
    assert_allowed(
        "add_decayed_weights.weight_decay",
        add_decayed_weights,
        NOT_NEGATIVE,
    );
    assert_allowed("ratio.eps", |x| ratio(mean(), variance(0), x), NOT_NEGATIVE);
    assert_allowed("ema.decay", |x| mean().then(ema(x)), DECAY);
    assert_allowed("ema.decay", |x| mean().then(ema(x).debias(false)), DECAY);
    assert_allowed(
        "bias_correction.decay",
        |x| mean().then(bias_correction(x)),
        DECAY,
    );
    assert_allowed(
        "clip_by_block_rms.threshold",
        |x| mean().then(clip_by_block_rms(x)),
        BOUND,
    );
    assert_allowed(
        "adaptive_grad_clip.clipping",
        |x| mean().then(adaptive_grad_clip(x)),
        BOUND,
    );
    assert_allowed("b2", |x| amsgrad(0.1).b2(x), DECAY);
    assert_allowed("rho", |x| adadelta().rho(x), DECAY);
    assert_allowed("momentum", |x| rmsprop(0.1).momentum(x), SHARE);
    assert_allowed("eps", |x| adagrad(0.1).eps(x), NOT_NEGATIVE);
    assert_allowed("max_step_size", |x| rprop(0.1).max_step_size(x), BOUND);
    assert_allowed("f_min", |x| polyak_sgd().f_min(x), FINITE);
    assert_allowed(
        "running_sum.init",
        |x| mean().then(running_sum().init(x)),
        FINITE,
    );
    assert_allowed("ema.init", |x| mean().then(ema(0.9).init(x)), FINITE);
    assert_allowed("trace.decay", |x| mean().then(trace(x)), SHARE);
    assert_allowed(
        "clip_by_global_norm.max_norm",
        |x| mean().then(clip_by_global_norm(x)),
        BOUND,
    );
    assert_allowed("b1", |x| mean().then(scale_by_adam().b1(x)), DECAY);
    assert_allowed("b2", |x| mean().then(scale_by_adam().b2(x)), DECAY);
    assert_allowed("eps", |x| mean().then(scale_by_adam().eps(x)), NOT_NEGATIVE);
    assert_allowed(
        "eps_root",
        |x| mean().then(scale_by_adam().eps_root(x)),
        NOT_NEGATIVE,
    );
    assert_allowed("gns.decay", |x| monitor::gns().decay(x), DECAY);
    assert_allowed("learning_rate", monitor::cabs, NOT_NEGATIVE);
    assert_allowed(
        "early_stopping.eps",
        |x| monitor::early_stopping().eps(x),
        NOT_NEGATIVE,
    );
    assert_allowed(
        "per_example_norms.outliers_above",
        |x| monitor::per_example_norms().outliers_above(x),
        BOUND,
    );
    assert_allowed("b1", |x| mean().then(scale_by_lion().b1(x)), SHARE);
    assert_allowed("b2", |x| mean().then(scale_by_lion().b2(x)), SHARE);
}

#[test]
fn every_optimizer_refuses_what_makes_no_sense() {
    assert_allowed("learning_rate", adam, NOT_NEGATIVE);
    assert_allowed("learning_rate", micro_adam, NOT_NEGATIVE);
    assert_allowed("learning_rate", sign_ema, NOT_NEGATIVE);
    assert_allowed("weight_decay", |x| adamw(0.1).weight_decay(x), NOT_NEGATIVE);
    assert_allowed("weight_decay", |x| lion(0.1).weight_decay(x), NOT_NEGATIVE);
    assert_allowed("momentum", |x| sgd(0.1).momentum(x), SHARE);
    assert_allowed("beta", |x| sign_ema(0.1).beta(x), DECAY);
    assert_allowed("beta", |x| sign_sgd(0.1).beta(x), DECAY);
    assert_allowed("beta", |x| micro_sign_sgd(0.1).beta(x), DECAY);
    assert_allowed("b2", |x| micro_adam_var(0.1).b2(x), DECAY);
    assert_allowed("a", |x| adam_interpolation(0.1, x, 1.0), NOT_NEGATIVE);
    assert_allowed("c", |x| adam_interpolation(0.1, 1.0, x), NOT_NEGATIVE);
}

#[test]
fn the_message_says_expected_and_got() {
    let message = |x: f64, domain: Domain| domain.check("link.field", x).unwrap_err().to_string();
    insta::assert_snapshot!(message(NAN, Domain::Finite), @"`link.field` must be a finite number, but it is NaN");
    insta::assert_snapshot!(message(-0.5, Domain::NonNegative), @"`link.field` must be a finite number that is not negative, but it is -0.5");
    insta::assert_snapshot!(message(-INF, Domain::Bound), @"`link.field` must be a number that is not negative (infinity is allowed), but it is -inf");
    insta::assert_snapshot!(message(1.0, Domain::Decay), @"`link.field` must be a number of at least 0 and below 1, but it is 1");
    insta::assert_snapshot!(message(1.5, Domain::Share), @"`link.field` must be a number from 0 to 1, but it is 1.5");
}

#[test]
fn a_link_under_a_name_is_refused_under_that_name() {
    let chain = chain((mean(), ema(2.0).named("slow")));
    assert_eq!(refused(&chain), Some("slow.decay".to_owned()));
    let named = Hyper::from(2.0).named("beta");
    assert_eq!(refused(&mean().then(ema(named))), Some("beta".to_owned()));
}

#[test]
fn schedules_refuse_numbers_that_are_none() {
    let cosine = |alpha: f64| {
        Schedule::CosineDecaySchedule(CosineDecaySchedule {
            init_value: 1.0,
            decay_steps: 10,
            alpha,
            exponent: 1.0,
        })
    };
    let warm_up = |end_value: f64| {
        Schedule::WarmupCosineDecaySchedule(WarmupCosineDecaySchedule {
            init_value: 0.0,
            peak_value: 1.0,
            warmup_steps: 1,
            decay_steps: 10,
            end_value,
            exponent: 1.0,
        })
    };
    for (schedule, name) in [
        (constant_schedule(NAN), "learning_rate.value"),
        (linear_schedule(0.1, NAN, 10), "learning_rate.end_value"),
        (linear_schedule(INF, 0.1, 10), "learning_rate.init_value"),
        (cosine(NAN), "learning_rate.alpha"),
        (warm_up(NAN), "learning_rate.end_value"),
    ] {
        assert_eq!(refused(&sgd(schedule)), Some(name.to_owned()));
    }
    let message = program(&sgd(linear_schedule(0.1, NAN, 10))).unwrap_err();
    insta::assert_snapshot!(message, @"`learning_rate.end_value` must be a finite number, but it is NaN");
}

#[test]
fn a_schedule_that_will_leave_its_range_is_refused_at_once() {
    let message = program(&sgd(linear_schedule(1.0, -1.0, 2))).unwrap_err();
    insta::assert_snapshot!(message, @"`learning_rate` must be a finite number that is not negative, but it is -1");
    let peak = warmup_cosine_decay_schedule(0.5, 1.0, 5, 10);
    assert!(program(&chain((mean(), ema(peak)))).is_err());
    assert!(program(&chain((mean(), ema(linear_schedule(0.9, 1.0, 2))))).is_err());
}

#[test]
fn hyper_parameters_of_one_name_and_value_are_one() {
    let names = |chain: &dyn Fn() -> pergrad_transforms::Program| -> Vec<String> {
        chain().hypers().iter().map(|h| h.name.clone()).collect()
    };
    let rate = scale_by_learning_rate;
    let same = chain((mean(), rate(0.1), rate(0.2), rate(0.2), rate(0.1)));
    assert_eq!(
        names(&|| program(&same).unwrap()),
        ["learning_rate", "learning_rate_2"]
    );
    let apart = chain((mean(), ema(0.9), ema(0.9)));
    assert_eq!(
        names(&|| program(&apart).unwrap()),
        ["ema.decay", "ema_2.decay"]
    );
}
