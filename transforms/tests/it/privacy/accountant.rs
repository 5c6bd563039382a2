//! What a run costs, and the noise for a budget.

use pergrad_transforms::privacy::{self, RdpAccountant};

use super::renyi::golden;

/// At orders that are not whole the library takes an upper bound, a little above the divergence itself.
#[test]
fn budgets_are_those_of_dp_accounting_or_a_little_less() {
    for run in golden().budgets {
        let epsilon = privacy::epsilon(run.sigma, run.rate, run.steps, run.delta).unwrap();
        let least = run.epsilon * (1.0 - 1e-3);
        assert!(
            (least..=run.epsilon * (1.0 + 1e-9)).contains(&epsilon),
            "{epsilon} {}",
            run.epsilon
        );
        let mut accountant = RdpAccountant::new();
        accountant.compose(run.sigma, run.rate, run.steps).unwrap();
        let delta = accountant.delta(run.at_epsilon).unwrap();
        // Nearly every order is useless where delta is near 1, but for those whose bound is the loosest.
        let share = if run.delta_at < 0.1 { 2e-2 } else { 1.0 };
        let least = run.delta_at * (1.0 - share);
        assert!(
            (least..=run.delta_at * (1.0 + 1e-9)).contains(&delta),
            "{delta} {}",
            run.delta_at
        );
    }
}

/// The tutorial of TensorFlow Privacy: 60000 digits, 256 a batch, noise 1.1, 60 epochs, delta 1e-5. It prints 3.01, by the
/// classic conversion with whole orders, and less since.
#[test]
fn the_tutorial_of_tensorflow_privacy_spends_three() {
    let (rate, steps) = (256.0 / 60_000.0, 60 * 60_000 / 256);
    let mut accountant = RdpAccountant::new();
    accountant.compose(1.1, rate, steps).unwrap();
    let classic = accountant.epsilon_classic(1e-5).unwrap();
    assert!((2.9..3.05).contains(&classic), "{classic}");
    assert!(accountant.epsilon(1e-5).unwrap() < classic);
}

/// Balle and Wang, 2018, arXiv 1805.06530, theorem 8: what one Gaussian step costs exactly. No bound may be below it.
#[test]
fn no_bound_is_below_the_exact_cost_of_a_gaussian() {
    let below = |x: f64| {
        // Simpson's rule over the density.
        let (nodes, low) = (4000, -12.0);
        let half = (x - low) / f64::from(2 * nodes);
        let density = |y: f64| (-0.5 * y * y).exp() / std::f64::consts::TAU.sqrt();
        let parts = (0..nodes).map(|n| low + 2.0 * half * f64::from(n));
        let parts = parts.map(|y| density(y) + 4.0 * density(y + half) + density(y + 2.0 * half));
        parts.sum::<f64>() * half / 3.0
    };
    for sigma in [0.7, 1.5, 5.0] {
        let mut accountant = RdpAccountant::new();
        accountant.compose(sigma, 1.0, 1).unwrap();
        for epsilon in [0.1, 0.5, 1.0, 3.0_f64] {
            let exact = below(0.5 / sigma - epsilon * sigma)
                - epsilon.exp() * below(-0.5 / sigma - epsilon * sigma);
            let bound = accountant.delta(epsilon).unwrap();
            assert!(bound >= exact - 1e-12, "{sigma} {epsilon}: {bound} {exact}");
            assert!(
                bound <= 20.0 * exact + 1e-6,
                "{sigma} {epsilon}: {bound} {exact}"
            );
        }
    }
}

#[test]
fn steps_add_up_in_any_order() {
    let composed = |steps: &[(f64, f64, u64)]| {
        let mut accountant = RdpAccountant::new();
        for (sigma, rate, steps) in steps {
            accountant.compose(*sigma, *rate, *steps).unwrap();
        }
        accountant.epsilon(1e-5).unwrap()
    };
    let whole = composed(&[(1.0, 0.01, 1000)]);
    let parts = composed(&[(1.0, 0.01, 400), (1.0, 0.01, 600)]);
    assert!((whole - parts).abs() < 1e-12);
    let mixed = composed(&[(1.0, 0.01, 500), (2.0, 0.02, 500)]);
    assert_eq!(mixed, composed(&[(2.0, 0.02, 500), (1.0, 0.01, 500)]));
    assert!(mixed > composed(&[(1.0, 0.01, 500)]));
    assert_eq!(composed(&[(0.0, 0.5, 0)]), 0.0, "no steps");
    assert_eq!(composed(&[(1.0, 0.0, 9)]), 0.0, "no examples");
    assert_eq!(composed(&[(0.0, 0.5, 1)]), f64::INFINITY, "no noise");
}

#[test]
fn delta_and_epsilon_are_inverse() {
    let mut accountant = RdpAccountant::new();
    accountant.compose(1.3, 0.02, 2000).unwrap();
    for delta in [1e-3, 1e-5, 1e-9] {
        let epsilon = accountant.epsilon(delta).unwrap();
        let back = accountant.delta(epsilon).unwrap();
        assert!((back / delta - 1.0).abs() < 1e-9, "{back} {delta}");
    }
}

#[test]
fn the_noise_for_a_budget_keeps_it_and_a_little_less_does_not() {
    for (epsilon, delta, rate, steps) in [
        (2.0, 1e-5, 0.01, 1000),
        (8.0, 1e-6, 0.1, 100),
        (0.5, 1e-5, 1.0, 1),
        (50.0, 1e-5, 0.001, 10),
    ] {
        let sigma = privacy::noise_multiplier(epsilon, delta, rate, steps).unwrap();
        let spends = |sigma| privacy::epsilon(sigma, rate, steps, delta).unwrap();
        assert!(spends(sigma) <= epsilon);
        assert!(spends(0.9999 * sigma) > epsilon, "{sigma}");
    }
    assert_eq!(privacy::noise_multiplier(1.0, 1e-5, 0.0, 10).unwrap(), 0.0);
    let without_end = privacy::noise_multiplier(0.1, 1e-200, 0.5, 1).unwrap();
    assert_eq!(without_end, f64::INFINITY);
}

#[test]
fn an_accountant_is_data() {
    let mut accountant = RdpAccountant::with_orders([2.0, 8.5]).unwrap();
    accountant.compose(1.0, 0.1, 10).unwrap();
    let text = serde_json::to_string(&accountant).unwrap();
    assert_eq!(
        serde_json::from_str::<RdpAccountant>(&text).unwrap(),
        accountant
    );
    assert_eq!(accountant.spent().len(), 2);
}

#[test]
fn an_accountant_of_infinite_divergences_survives_json() {
    let mut accountant = RdpAccountant::with_orders([2.0, 8.5]).unwrap();
    accountant.compose(0.0, 0.1, 1).unwrap();
    let text = serde_json::to_string(&accountant).unwrap();
    assert_eq!(text, r#"{"spent":[[2.0,"inf"],[8.5,"inf"]]}"#);
    let read: RdpAccountant = serde_json::from_str(&text).unwrap();
    assert_eq!(read, accountant);
    assert_eq!(read.epsilon(1e-5).unwrap(), f64::INFINITY);
    assert_eq!(read.delta(1.0).unwrap(), 1.0);
}

#[test]
fn accountants_that_make_no_sense_are_not_read() {
    let error = |text: &str| serde_json::from_str::<RdpAccountant>(text).unwrap_err();
    for order in ["1.0", "0.5", "-2.0", r#""NaN""#, r#""inf""#, "1e300"] {
        let text = format!(r#"{{"spent":[[{order},0.0]]}}"#);
        assert!(error(&text).to_string().contains("`privacy.orders`"));
    }
    insta::assert_snapshot!(error(r#"{"spent":[]}"#), @"`privacy.orders` must be at least one order, but it is 0");
    insta::assert_snapshot!(error(r#"{"spent":[[2.0,1.0],[3.0,-1.0]]}"#), @"`privacy.spent` must be numbers that are not negative, but it is -1");
    insta::assert_snapshot!(error(r#"{"spent":[[2.0,"NaN"]]}"#), @"`privacy.spent` must be numbers that are not negative, but it is NaN");
    let whole: RdpAccountant = serde_json::from_str(r#"{"spent":[[2,1]]}"#).unwrap();
    assert_eq!(whole.spent(), [(2.0, 1.0)]);
}

/// The work grows with the order, so orders have a bound, up to which it ends.
#[test]
fn orders_up_to_a_million_compose_and_greater_ones_are_refused() {
    let mut accountant = RdpAccountant::with_orders([1e6, 999_998.5]).unwrap();
    accountant.compose(100.0, 0.01, 1).unwrap();
    let [(_, whole), (_, next)] = accountant.spent() else {
        panic!("two orders")
    };
    assert!(next < whole);
    insta::assert_snapshot!(RdpAccountant::with_orders([2.0, 1e6 + 1.0]).unwrap_err(), @"`privacy.orders` must be numbers above 1 and at most 1000000, but it is 1000001");
    assert!(privacy::rdp_subsampled_gaussian(1.0, 0.1, 1e300).is_err());
}

#[test]
fn budgets_that_make_no_sense_are_refused() {
    insta::assert_snapshot!(privacy::epsilon(1.0, 0.1, 1, 0.0).unwrap_err(), @"`privacy.delta` must be a number above 0 and below 1, but it is 0");
    insta::assert_snapshot!(privacy::epsilon(f64::NAN, 0.1, 1, 1e-5).unwrap_err(), @"`privacy.sigma` must be a number that is not negative, but it is NaN");
    insta::assert_snapshot!(privacy::noise_multiplier(0.0, 1e-5, 0.1, 1).unwrap_err(), @"`privacy.epsilon` must be a number above 0, but it is 0");
    insta::assert_snapshot!(RdpAccountant::new().delta(-1.0).unwrap_err(), @"`privacy.epsilon` must be a number that is not negative, but it is -1");
    insta::assert_snapshot!(RdpAccountant::with_orders([]).unwrap_err(), @"`privacy.orders` must be at least one order, but it is 0");
    insta::assert_snapshot!(RdpAccountant::with_orders([1.0]).unwrap_err(), @"`privacy.orders` must be numbers above 1 and at most 1000000, but it is 1");
    let mut accountant = RdpAccountant::new();
    assert!(accountant.compose(1.0, 2.0, 1).is_err());
    assert_eq!(accountant, RdpAccountant::new(), "nothing is added");
}
