//! Costs that are small next to 1, and noise that is next to none: nothing may be reported as free.

use pergrad_transforms::privacy::{self, RdpAccountant, rdp_subsampled_gaussian};

/// Noise multipliers and rates whose moments are 1 and about 1e-15.
const SMALL: [(f64, f64); 3] = [(2.0, 1e-7), (20.0, 1e-6), (10.0, 3e-7)];

fn rdp(sigma: f64, rate: f64, order: f64) -> f64 {
    rdp_subsampled_gaussian(sigma, rate, order).unwrap()
}

#[track_caller]
fn assert_near(got: f64, expected: f64, relative: f64, what: &str) {
    let error = (got - expected).abs();
    assert!(error <= relative * expected, "{what}: {got} {expected}");
}

/// `a (a - 1) / 2 q^2 (exp(s^-2) - 1) / (a - 1)`, the first term of the binomial series.
#[test]
fn divergences_of_small_rates_are_the_leading_term() {
    for sigma in [0.5, 1.0, 2.0, 20.0, 1e4, 1e40] {
        for rate in [1e-9, 1e-12, 1e-30, 1e-100] {
            for order in [1.001, 1.1, 1.5, 2.0, 2.5, 3.0, 5.7] {
                // The next term is q (a - 2) / 3 exp(2 s^-2) of it, or less.
                if rate * (3.0_f64 * order / (sigma * sigma)).exp() > 1e-7 {
                    continue;
                }
                let square = rate * rate * (sigma.powi(-2)).exp_m1();
                let what = format!("{sigma} {rate} {order}");
                assert_near(rdp(sigma, rate, order), 0.5 * order * square, 1e-6, &what);
            }
        }
    }
}

/// By mpmath with more digits than cancel: the sum of the moment itself for whole orders, tanh-sinh quadrature for the others.
#[test]
fn divergences_of_small_rates_have_ten_digits() {
    for (sigma, rate, order, expected) in [
        (2.0, 1e-7, 2.0, 2.840_254_166_877e-15),
        (2.0, 1e-7, 64.0, 9.088_830_854_346e-14),
        (20.0, 1e-6, 1024.0, 1.281_604_615_499e-12),
        (10.0, 3e-7, 512.0, 2.315_562_068_704e-13),
        (1.0, 1e-9, 40.0, 3.436_565_450_721e-17),
        (0.5, 1e-30, 20.0, 5.359_815_003_314e-58),
        (2.0, 1e-7, 1.1, 1.562_139_748_070e-15),
        (20.0, 1e-6, 10.9, 1.364_204_575_575e-14),
        (10.0, 3e-7, 1.5, 6.783_862_771_552e-16),
        (0.5, 1e-5, 4.3, 1.202_871_489_147e-8),
        (0.3, 1e-20, 3.7, 1.237_825_659_220e-35),
        (0.06, 1e-200, 1.2, 2.594_695_870_325e-280),
        (1.0, 1e-4, 30.5, 5.727_444_701_755),
        (1.0, 0.99, 1.001, 0.490_578_687_301_0),
        (1.0, 1e-3, 1.000_000_1, 8.568_463_268_833e-7),
    ] {
        let what = format!("{sigma} {rate} {order}");
        assert_near(rdp(sigma, rate, order), expected, 1e-10, &what);
    }
}

#[test]
fn orders_that_are_whole_and_orders_next_to_them_agree() {
    for (sigma, rate) in [(2.0, 1e-7), (0.5, 1e-4), (1.0, 0.3), (0.06, 1e-200)] {
        for order in [2.0, 3.0, 8.0, 100.0] {
            let what = format!("{sigma} {rate} {order}");
            let next = rdp(sigma, rate, order * (1.0 + 1e-12));
            assert_near(next, rdp(sigma, rate, order), 1e-8, &what);
        }
    }
}

/// At ε = 0 one step costs `q (2 Phi(1 / (2 s)) - 1)` exactly, which no bound may be below.
#[test]
fn one_step_of_a_small_rate_is_not_free() {
    for ((sigma, rate), digits) in SMALL.into_iter().zip([1.97e-8, 1.99e-8, 1.20e-8]) {
        let exact = rate * libm::erf(0.5 / sigma / std::f64::consts::SQRT_2);
        assert_near(exact, digits, 1e-2, "exact");
        let mut accountant = RdpAccountant::new();
        accountant.compose(sigma, rate, 1).unwrap();
        let bound = accountant.delta(0.0).unwrap();
        assert!((exact..3.0 * exact).contains(&bound), "{bound} {exact}");
        assert!(privacy::epsilon(sigma, rate, 1, 1e-9).unwrap() > 0.0);
        assert_eq!(privacy::epsilon(sigma, rate, 1, 1e-7).unwrap(), 0.0);
    }
}

#[test]
fn costs_of_small_rates_grow_with_the_rate_and_the_steps() {
    let delta = |sigma, rate, steps| {
        let mut accountant = RdpAccountant::new();
        accountant.compose(sigma, rate, steps).unwrap();
        accountant.delta(0.0).unwrap()
    };
    for (sigma, rate) in SMALL {
        for order in [1.1, 2.0, 2.5, 1024.0] {
            let values = [0.25, 0.5, 1.0, 1.001, 2.0, 1e3].map(|x| rdp(sigma, x * rate, order));
            assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
        }
        assert!(delta(sigma, rate, 1) < delta(sigma, 1.001 * rate, 1));
        assert!(delta(sigma, rate, 1) < delta(sigma, rate, 2));
        let epsilon = |steps| privacy::epsilon(sigma, rate, steps, 1e-9).unwrap();
        let epsilons = [1, 100, 1_000_000, 1_000_000_000_000].map(epsilon);
        assert!(epsilons.is_sorted(), "{epsilons:?}");
        assert!(epsilons[0] < epsilons[3]);
    }
}

#[test]
fn divergences_with_noise_are_never_zero() {
    for rate in [5e-324, 1e-300, 1e-100, 1e-7, 0.5, 1.0 - 1e-16, 1.0] {
        for sigma in [0.04, 0.06, 1.0, 1e8, 1e100, 1e160, f64::MAX] {
            for order in [1.0 + f64::EPSILON, 1.1, 2.0, 2.5, 63.5, 1024.0, 2000.5] {
                let rdp = rdp(sigma, rate, order);
                assert!(rdp > 0.0, "{sigma} {rate} {order}: {rdp}");
                assert!(rdp.is_finite(), "{sigma} {rate} {order}: {rdp}");
            }
        }
    }
}

/// Where squares underflow, infinity less infinity must not be no cost.
#[test]
fn next_to_no_noise_is_as_dear_as_none() {
    for sigma in [5e-152, 1e-154, 1e-160, 1e-200, 5e-324] {
        for rate in [1e-300, 1e-7, 0.5, 1.0] {
            for order in [1.1, 2.0, 2.5, 64.0, 1024.0] {
                let rdp = rdp(sigma, rate, order);
                assert!(rdp > 1e290, "{sigma} {rate} {order}: {rdp}");
            }
            let epsilon = privacy::epsilon(sigma, rate, 1, 1e-5).unwrap();
            assert!(epsilon > 1e290, "{sigma} {rate}: {epsilon}");
        }
    }
    assert_eq!(rdp(1e-160, 0.5, 2.0), f64::INFINITY);
}

#[test]
fn converters_promise_nothing_for_nan() {
    let nan = f64::NAN;
    for arguments in [[nan, 2.0, 1e-5], [1.0, nan, 1e-5], [1.0, 2.0, nan]] {
        let [rdp, order, given] = arguments;
        assert_eq!(privacy::epsilon_of_rdp(rdp, order, given), f64::INFINITY);
        let classic = privacy::epsilon_of_rdp_classic(rdp, order, given);
        assert_eq!(classic, f64::INFINITY);
        assert_eq!(privacy::delta_of_rdp(rdp, order, given), 1.0);
    }
    for (order, given) in [(1.0, 0.5), (0.5, 0.5), (2.0, -0.5)] {
        assert_eq!(privacy::epsilon_of_rdp(0.1, order, given), f64::INFINITY);
        assert_eq!(privacy::delta_of_rdp(0.1, order, given), 1.0);
    }
    let infinite = f64::INFINITY;
    assert_eq!(privacy::epsilon_of_rdp(infinite, 2.0, 1e-5), infinite);
    assert_eq!(privacy::epsilon_of_rdp(1.0, infinite, 1e-5), infinite);
    assert_eq!(privacy::delta_of_rdp(infinite, 2.0, infinite), 1.0);
}
