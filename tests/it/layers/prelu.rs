//! The parametric rectifier.

use burn::nn::PReluConfig;
use burn::tensor::{DType, Tensor};
use pergrad::nn::PRelu;
use pergrad::per_example_grads;

use super::{holds, is_burns, losses};
use crate::models::{device, numbers, random};

#[test]
fn captured_equals_one_example_at_a_time_with_one_alpha_and_with_one_for_each_channel() {
    for alphas in [1, 3] {
        let config = PReluConfig::new().with_num_parameters(alphas);
        let layer = PRelu::new(&config, &device());
        holds(layer.clone(), [0, 3], PRelu::forward::<2>);
        holds(layer.clone(), [0, 3, 1], PRelu::forward::<3>);
        holds(layer, [0, 3, 2, 4], PRelu::forward::<4>);
    }
}

#[test]
fn the_layer_is_burns() {
    for alphas in [1, 3] {
        let config = PReluConfig::new().with_num_parameters(alphas);
        let x = random([2, 3, 4], DType::F32, &device());
        let burn = config.init(&device());
        is_burns(burn, x, burn::nn::PRelu::forward::<3>, PRelu::forward::<3>);
    }
}

#[test]
fn zero_nan_and_infinity_on_the_positive_side_give_alpha_no_gradient() {
    let layer = PRelu::new(&PReluConfig::new(), &device());
    let x = Tensor::<2>::from_floats([[0.0], [f32::NAN], [f32::INFINITY], [-2.0]], &device());
    let (_, grads) = per_example_grads(&layer, |m| m.forward(x).reshape([4])).unwrap();
    assert_eq!(
        numbers(grads.leaf::<2>("alpha").unwrap()),
        [0.0, 0.0, 0.0, -2.0]
    );
}

#[test]
fn an_input_without_a_batch_axis_is_refused_by_name() {
    let layer = PRelu::new(&PReluConfig::new(), &device());
    let x = random([3], DType::F32, &device());
    let error = per_example_grads(&layer, |m| losses(m.forward(x).unsqueeze::<2>())).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`PRelu` got an input of rank 1")
    );
}
