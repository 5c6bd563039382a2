//! The divergence of one step, against values of other programs and a quadrature.

use pergrad_transforms::privacy::rdp_subsampled_gaussian;
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Golden {
    whole: Vec<Divergence>,
    fractional: Vec<Divergence>,
    pub(super) budgets: Vec<Budget>,
}

#[derive(Deserialize)]
struct Divergence {
    sigma: f64,
    rate: f64,
    order: f64,
    rdp: f64,
}

/// What dp-accounting says of a run.
#[derive(Deserialize)]
pub(super) struct Budget {
    pub(super) sigma: f64,
    pub(super) rate: f64,
    pub(super) steps: u64,
    pub(super) delta: f64,
    pub(super) epsilon: f64,
    pub(super) at_epsilon: f64,
    pub(super) delta_at: f64,
}

pub(super) fn golden() -> Golden {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/golden/privacy/rdp.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
fn assert_same(cases: &[Divergence], of_moment: f64) {
    assert!(cases.len() > 100);
    for Divergence {
        sigma,
        rate,
        order,
        rdp,
    } in cases
    {
        let got = rdp_subsampled_gaussian(*sigma, *rate, *order).unwrap();
        let bound = 1e-11 * rdp + of_moment / (order - 1.0);
        assert!(
            (got - rdp).abs() <= bound,
            "{sigma} {rate} {order}: {got} {rdp}"
        );
    }
}

/// Its binomials have 10 digits: for noise 10, rate 0.001 and order 1024 it gives 5.1994027394e-6, where 60 digits give
/// 5.1994027389e-6, as here.
#[test]
fn divergences_of_whole_order_are_those_of_dp_accounting() {
    assert_same(&golden().whole, 1e-9);
    let got = rdp_subsampled_gaussian(10.0, 0.001, 1024.0).unwrap();
    assert!((got - 5.199_402_738_861_324e-6).abs() < 1e-18);
}

/// The moment that scipy finds is at least 1 and has 15 digits, its logarithm 15 digits after the point.
#[test]
fn divergences_of_other_orders_are_the_integrals_that_scipy_finds() {
    assert_same(&golden().fractional, 1e-13);
}

/// Simpson's rule over the definition, in the variable of the noise.
#[test]
fn divergences_of_whole_order_are_the_integral_of_the_definition() {
    for (sigma, rate, order) in [(1.0, 0.01, 3), (2.0, 0.3, 2), (0.8, 0.5, 5), (4.0, 0.1, 16)] {
        let variance = sigma * sigma;
        let integrand = |x: f64| {
            let density = (-0.5 * x * x / variance).exp() / (sigma * std::f64::consts::TAU.sqrt());
            let ratio = ((x - 0.5) / variance).exp();
            density * (1.0 - rate + rate * ratio).powi(order)
        };
        let (low, high) = (-12.0 * sigma, f64::from(order) + 12.0 * sigma);
        let half = (high - low) / 40_000.0;
        let simpson: f64 = (0..20_000)
            .map(|n| low + 2.0 * half * f64::from(n))
            .map(|x| integrand(x) + 4.0 * integrand(x + half) + integrand(x + 2.0 * half))
            .sum();
        let expected = (simpson * half / 3.0).ln() / f64::from(order - 1);
        let got = rdp_subsampled_gaussian(sigma, rate, f64::from(order)).unwrap();
        assert!(
            (got - expected).abs() <= 1e-9 * expected,
            "{got} {expected}"
        );
    }
}

#[test]
fn the_whole_batch_has_the_divergence_of_the_gaussian() {
    for order in [1.1, 2.0, 7.5, 64.0] {
        let rdp = rdp_subsampled_gaussian(3.0, 1.0, order).unwrap();
        assert!((rdp - order / 18.0).abs() < 1e-15);
        // And comes to it.
        let nearly = rdp_subsampled_gaussian(3.0, 1.0 - 1e-9, order).unwrap();
        assert!((nearly - rdp).abs() < 1e-7);
    }
}

#[test]
fn edges_of_the_divergence_are_what_the_table_says() {
    let rdp = |sigma, rate, order| rdp_subsampled_gaussian(sigma, rate, order).unwrap();
    assert_eq!(rdp(0.0, 0.0, 2.0), 0.0);
    assert_eq!(rdp(1.0, 0.0, 2.5), 0.0);
    assert_eq!(rdp(0.0, 0.1, 2.0), f64::INFINITY);
    assert_eq!(rdp(f64::INFINITY, 0.1, 2.0), 0.0);
    assert_eq!(rdp(0.049, 0.1, 2.5), rdp(0.049, 0.1, 3.0));
    assert!(rdp(0.051, 0.1, 2.5) < rdp(0.051, 0.1, 3.0));
}

#[test]
fn divergences_grow_with_the_order_and_the_rate_and_fall_with_the_noise() {
    let rdp = |sigma, rate, order| rdp_subsampled_gaussian(sigma, rate, order).unwrap();
    for tenths in 11..60 {
        let order = f64::from(tenths) / 10.0;
        assert!(rdp(1.0, 0.1, order) < rdp(1.0, 0.1, order + 0.1));
        assert!(rdp(1.0, 0.1, order) < rdp(1.0, 0.12, order));
        assert!(rdp(1.1, 0.1, order) < rdp(1.0, 0.1, order));
    }
}

#[test]
fn arguments_of_the_divergence_that_make_no_sense_are_refused() {
    let error = |sigma, rate, order| rdp_subsampled_gaussian(sigma, rate, order).unwrap_err();
    insta::assert_snapshot!(error(-1.0, 0.1, 2.0), @"`privacy.sigma` must be a number that is not negative, but it is -1");
    insta::assert_snapshot!(error(1.0, 1.1, 2.0), @"`privacy.rate` must be a number from 0 to 1, but it is 1.1");
    insta::assert_snapshot!(error(1.0, 0.1, 1.0), @"`privacy.order` must be a number above 1 and at most 1000000, but it is 1");
}
