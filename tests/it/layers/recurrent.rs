//! The recurrent layers.

use burn::module::Module;
use burn::nn::activation::{ActivationConfig, PReluConfig};
use burn::nn::{GruConfig, Initializer, LstmConfig, LstmState};
use burn::tensor::{DType, Tensor};
use pergrad::nn::{GateController, Gru, Lstm};
use pergrad::per_example_grads;

use super::{holds, is_burns, losses};
use crate::models::{device, random};

fn lstms() -> [LstmConfig; 5] {
    let config = LstmConfig::new(2, 3, true);
    [
        config.clone(),
        LstmConfig::new(2, 3, false),
        config.clone().with_reverse(true).with_batch_first(false),
        config.clone().with_input_forget(true).with_clip(Some(0.3)),
        config
            .with_gate_activation(ActivationConfig::HardSwish)
            .with_cell_activation(ActivationConfig::Gelu)
            .with_hidden_activation(ActivationConfig::Sigmoid),
    ]
}

fn grus() -> [GruConfig; 4] {
    let config = GruConfig::new(2, 3, true);
    [
        config.clone(),
        GruConfig::new(2, 3, false),
        config.clone().with_reset_after(false),
        config
            .with_clip(Some(0.3))
            .with_hidden_activation(ActivationConfig::Gelu),
    ]
}

/// Outputs, cell and hidden state of every example, from a state that depends on the input: the steps are axis 1 of `x`.
fn whole(
    batch_first: bool,
    x: Tensor<3>,
    forward: impl FnOnce(Tensor<3>, Option<LstmState<2>>) -> (Tensor<3>, LstmState<2>),
) -> Tensor<2> {
    let swap = |x: Tensor<3>| if batch_first { x } else { x.swap_dims(0, 1) };
    let first = x.clone().sum_dim(1).flatten::<2>(1, 2).sum_dim(1);
    let first = first.repeat_dim(1, 3);
    let state = LstmState::new(first.clone(), first.tanh());
    let (y, last) = forward(swap(x), Some(state));
    Tensor::cat(vec![swap(y).flatten(1, 2), last.cell, last.hidden], 1)
}

#[test]
fn lstm_captured_equals_one_example_at_a_time() {
    for config in lstms() {
        let layer = Lstm::new(&config, &device());
        for shape in [[0, 4, 2], [0, 1, 2]] {
            holds(layer.clone(), shape, |m: &Lstm, x| {
                whole(m.batch_first, x, |x, state| m.forward(x, state))
            });
        }
        // From zeros.
        holds(layer, [0, 3, 2], |m: &Lstm, x| {
            whole(m.batch_first, x, |x, _| m.forward(x, None))
        });
    }
}

#[test]
fn lstm_is_burns() {
    for config in lstms() {
        let x = random([3, 4, 2], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            |m: &burn::nn::Lstm, x| whole(m.batch_first, x, |x, state| m.forward(x, state)),
            |m: &Lstm, x| whole(m.batch_first, x, |x, state| m.forward(x, state)),
        );
    }
}

#[test]
fn gru_captured_equals_one_example_at_a_time() {
    for config in grus() {
        let layer = Gru::new(&config, &device());
        for shape in [[0, 4, 2], [0, 1, 2]] {
            holds(layer.clone(), shape, |m: &Gru, x| m.forward(x, None));
        }
        holds(layer, [0, 3, 3], |m: &Gru, x| {
            let (x, state) = (x.clone().narrow(2, 0, 2), x.narrow(1, 0, 1).squeeze_dim(1));
            m.forward(x, Some(state))
        });
    }
}

#[test]
fn gru_is_burns() {
    for config in grus() {
        let x = random([3, 4, 2], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            |m: &burn::nn::Gru, x| m.forward(x, None),
            |m: &Gru, x| m.forward(x, None),
        );
    }
}

#[test]
fn a_gate_captured_equals_one_example_at_a_time_and_is_burns() {
    for bias in [true, false] {
        let initializer = Initializer::XavierNormal { gain: 1.0 };
        let gate = GateController::new(2, 3, bias, initializer, &device());
        let split = |x: Tensor<2>| (x.clone().narrow(1, 0, 2), x.narrow(1, 2, 3));
        holds(gate, [0, 5], |m: &GateController, x| {
            let (x, h) = split(x);
            m.gate_product(x, h)
        });
    }
}

#[test]
fn no_steps_give_no_output_and_the_first_state() {
    let x = Tensor::<3>::zeros([2, 0, 2], &device());
    let (y, state) = Lstm::new(&lstms()[0], &device()).forward(x.clone(), None);
    assert_eq!((y.dims(), state.cell.dims()), ([2, 0, 3], [2, 3]));
    let y = Gru::new(&grus()[0], &device()).forward(x, None);
    assert_eq!(y.dims(), [2, 0, 3]);
}

#[test]
fn an_activation_with_parameters_is_refused_by_name() {
    let activation = ActivationConfig::PRelu(PReluConfig::new());
    let config = LstmConfig::new(2, 3, true).with_cell_activation(activation);
    let layer = Lstm::new(&config, &device());
    let x = random([2, 3, 2], DType::F32, &device());
    let error = per_example_grads(&layer, |m| losses(m.forward(x.clone(), None).0)).unwrap_err();
    assert!(
        error.to_string().starts_with("`cell_activation."),
        "{error}"
    );
    let mut layer = layer;
    layer.cell_activation = layer.cell_activation.no_grad();
    assert!(per_example_grads(&layer, |m| losses(m.forward(x, None).0)).is_ok());
}
