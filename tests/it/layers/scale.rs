//! Bare scales and shifts.

use burn::module::Param;
use burn::tensor::{DType, Tensor};
use pergrad::nn::{Bias, Scale};
use pergrad::per_example_grads;

use super::{holds, losses};
use crate::models::{device, numbers, random};

#[test]
fn captured_equals_one_example_at_a_time() {
    let (scale, bias) = (Scale::new(4, &device()), Bias::new(4, &device()));
    holds(scale.clone(), [0, 4], Scale::forward::<2>);
    holds(scale, [0, 2, 3, 4], Scale::forward::<4>);
    holds(bias.clone(), [0, 4], Bias::forward::<2>);
    holds(bias, [0, 2, 3, 4], Bias::forward::<4>);
}

#[test]
fn one_number_is_spread_over_any_width() {
    let (scale, bias) = (Scale::new(1, &device()), Bias::new(1, &device()));
    holds(scale, [0, 2, 3], Scale::forward::<3>);
    holds(bias, [0, 2, 3], Bias::forward::<3>);
}

#[test]
fn outside_a_capture_they_multiply_and_add() {
    let p = || Param::from_tensor(Tensor::<1>::from_floats([2.0, 3.0], &device()));
    let x = Tensor::<2>::from_floats([[1.0, 10.0]], &device());
    let scaled = Scale::from(p()).forward(x.clone());
    assert_eq!(numbers(scaled.inner()), [2.0, 30.0]);
    let shifted = Bias::from(p()).forward(x);
    assert_eq!(numbers(shifted.inner()), [3.0, 13.0]);
}

#[test]
fn an_input_without_a_batch_axis_is_refused_by_name() {
    let x = random([4], DType::F32, &device());
    let layer = Bias::new(4, &device());
    let error = per_example_grads(&layer, |m| losses(m.forward(x).unsqueeze::<2>())).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`Bias` got an input of rank 1")
    );
}
