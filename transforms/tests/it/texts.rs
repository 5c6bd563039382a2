//! The texts that people read: programs and update rules of the aliases, and the catalogue.
//!
//! Each snapshot of an alias is its program and three steps of it on the reference: two examples of `w [2]` and `b []`, the
//! updates applied to the parameters in between.

use pergrad_transforms::prelude::*;
use pergrad_transforms::spec::Catalogue;
use pergrad_transforms::update_trace::{UpdateTrace, round};

fn text(chain: &impl Transform<pergrad_transforms::PerExample>) -> String {
    let mut trace = UpdateTrace::per_example(chain)
        .unwrap()
        .leaf("w", [2], [1.0, -2.0])
        .leaf("b", [], [0.5]);
    let reads_loss = trace.program().extras().iter().any(|e| e.name == "loss");
    for (w, b, loss) in [
        ([1.0, 2.0, 3.0, -4.0], [0.5, 0.25], 3.0),
        ([2.0, 0.0, 2.0, 1.0], [-1.0, 1.0], 2.0),
        ([-4.0, -3.0, -2.0, 5.0], [0.0, 0.0], 2.5),
    ] {
        let grads = [("w", w.to_vec()), ("b", b.to_vec())];
        let extras = reads_loss.then(|| ("loss", vec![loss]));
        trace = trace.step_with(grads, extras);
    }
    format!("{}\n{}", trace.program(), trace.on_reference().unwrap())
}

macro_rules! alias_texts {
    ($($name:ident: $chain:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), text(&$chain));
        }
    )*};
}

mod aliases {
    use super::*;

    alias_texts! {
        acprop_text: acprop(0.1);
        adabelief_text: adabelief(0.1);
        adadelta_text: adadelta();
        adafactor_text: adafactor().learning_rate(0.1);
        adagrad_text: adagrad(0.1);
        adagrad_with_second_moment_text: adagrad_with_second_moment(0.1, square().then(mean()));
        amsgrad_with_second_moment_text: amsgrad_with_second_moment(0.1, square().then(mean()));
        rmsprop_with_second_moment_text: rmsprop_with_second_moment(0.1, square().then(mean()));
        sophia_with_curvature_text: sophia_with_curvature(0.1, square().then(mean()));
        adamax_text: adamax(0.1);
        adamaxw_text: adamaxw(0.1);
        adan_text: adan(0.1);
        ademamix_text: ademamix(0.1);
        adopt_text: adopt(0.1);
        amsgrad_text: amsgrad(0.1);
        cocob_text: cocob();
        dadapt_adamw_text: dadapt_adamw().estim_lr0(0.1);
        dog_text: dog().init_value(0.1);
        dowg_text: dowg();
        dpsgd_text: dpsgd(0.1, 1.0, 0.5, 2).momentum(0.9).seed(Seed::from(7));
        fromage_text: fromage(0.1);
        lamb_text: lamb(0.1).weight_decay(0.01);
        lars_text: lars(0.1);
        madgrad_text: madgrad(0.1);
        momo_text: momo();
        momo_adam_text: momo_adam();
        muon_text: muon(0.1);
        nadamw_text: nadamw(0.1);
        noisy_sgd_text: noisy_sgd(0.1).seed(Seed::from(7));
        novograd_text: novograd(0.1);
        optimistic_adam_v2_text: optimistic_adam_v2(0.1);
        optimistic_gradient_descent_text: optimistic_gradient_descent(0.1);
        polyak_sgd_text: polyak_sgd();
        prodigy_text: prodigy().estim_lr0(0.1);
        radam_text: radam(0.1);
        rmsprop_text: rmsprop(0.1).momentum(0.9);
        rprop_text: rprop(0.1);
        simplified_ademamix_text: simplified_ademamix(0.1);
        sm3_text: sm3(0.1);
        yogi_text: yogi(0.1);
        adam_text: adam(0.1);
        nadam_text: nadam(0.1);
        adamw_text: adamw(0.1).weight_decay(0.01).mask(Leaves::RankAtLeast(1));
        adam_interpolation_text: adam_interpolation(0.1, 0.5, 0.25);
        adam_with_second_moment_text: adam_with_second_moment(0.1, square().then(max()));
        lion_text: lion(0.1);
        micro_adam_text: micro_adam(0.1);
        micro_adam_msq_text: micro_adam_msq(0.1);
        micro_adam_var_text: micro_adam_var(0.1);
        micro_sign_sgd_text: micro_sign_sgd(0.1);
        sgd_text: sgd(linear_schedule(0.0, 0.2, 2)).momentum(0.9);
        sign_ema_text: sign_ema(0.1);
        sign_sgd_text: sign_sgd(0.1).beta(0.9);
    }
}

#[test]
fn signum_has_the_text_of_sign_ema() {
    assert_eq!(text(&signum(0.1)), text(&sign_ema(0.1)));
}

#[test]
fn every_alias_of_the_catalogue_has_a_text() {
    let snapshots = include_str!("texts.rs");
    let catalogue = Catalogue::standard();
    let aliases = catalogue
        .entries()
        .iter()
        .filter(|e| e.family == pergrad_transforms::spec::Family::Alias);
    for alias in aliases {
        let name = if alias.name == "signum" {
            "sign_ema"
        } else {
            alias.name
        };
        assert!(snapshots.contains(&format!(" {name}_text:")), "{name}");
    }
}

#[test]
fn the_catalogue_as_a_table() {
    insta::assert_snapshot!(Catalogue::standard().to_markdown(|_| None));
}

#[test]
fn numbers_of_a_trace_are_rounded_to_significant_digits() {
    for (x, expected) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0 / 3.0, "0.333333"),
        (-123_456.7, "-123457"),
        (1e-5, "1e-5"),
        (123_456_789.0, "1.23457e8"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(round(x, 6), expected);
    }
    assert_eq!(round(0.999_999_9, 3), "1");
}
