//! The gated recurrent unit.

use burn::module::Module;
use burn::nn::activation::Activation;
use burn::nn::{self, GruConfig};
use burn::tensor::{Device, Tensor};

use super::GateController;

/// A gated recurrent unit, as [`burn::nn::Gru`]: the reset before or after the product, clipping, any activation.
///
/// It is unrolled through its [`Linear`](super::Linear) layers, so each of its parameters is held as theirs, with the T steps as
/// tokens.
///
/// # Shapes
/// Input `[B, T, d_input]`, output `[B, T, d_hidden]`, state `[B, d_hidden]`.
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | f64 or half precision | the first state and the output have the dtype of the input; burn's have the device's |
/// | an activation with parameters | they are outside pergrad's layers: a capture refuses them by name |
///
/// # Example
/// ```
/// use burn::nn::GruConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::{check_per_example_grads, nn::Gru};
///
/// let device = Device::default().autodiff();
/// let layer = Gru::new(&GruConfig::new(2, 3, true), &device);
/// let x = Tensor::<3>::random([2, 4, 2], Distribution::Default, &device);
/// let losses = |m: &Gru, b: std::ops::Range<usize>| {
///     let y = m.forward(x.clone().slice([b]), None);
///     (y.clone() * y).flatten::<2>(1, 2).sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&layer, 2, losses, 1e-4).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct Gru {
    /// How much of the state stays.
    pub update_gate: GateController,
    /// How much of the state the candidate sees.
    pub reset_gate: GateController,
    /// The candidate.
    pub new_gate: GateController,
    /// The size of the state.
    pub d_hidden: usize,
    /// Whether the reset gate comes after the product with the hidden state, or before it.
    pub reset_after: bool,
    /// Of the update and reset gates.
    pub gate_activation: Activation,
    /// Of the candidate.
    pub hidden_activation: Activation,
    /// The state stays between minus this and this.
    pub clip: Option<f64>,
}

impl Gru {
    /// A layer of burn's configuration.
    pub fn new(config: &GruConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass: the state after every step. Without a state it starts from zeros.
    pub fn forward(&self, batched_input: Tensor<3>, state: Option<Tensor<2>>) -> Tensor<3> {
        let [examples, steps, _] = batched_input.dims();
        let options = (&batched_input.device(), batched_input.dtype());
        let mut hidden = state.unwrap_or_else(|| Tensor::zeros([examples, self.d_hidden], options));
        let mut outputs = Vec::with_capacity(steps);
        for step in 0..steps {
            let x = batched_input.clone().narrow(1, step, 1).squeeze_dim(1);
            hidden = self.step(x, hidden);
            outputs.push(hidden.clone().unsqueeze_dim(1));
        }
        if outputs.is_empty() {
            return Tensor::zeros([examples, 0, self.d_hidden], options);
        }
        Tensor::cat(outputs, 1)
    }

    fn step(&self, x: Tensor<2>, hidden: Tensor<2>) -> Tensor<2> {
        let gate = |gate: &GateController| {
            let product = gate.gate_product(x.clone(), hidden.clone());
            self.gate_activation.forward(product)
        };
        let (update, reset) = (gate(&self.update_gate), gate(&self.reset_gate));
        let candidate = if self.reset_after {
            let GateController {
                input_transform,
                hidden_transform,
            } = &self.new_gate;
            input_transform.forward(x) + reset * hidden_transform.forward(hidden.clone())
        } else {
            self.new_gate.gate_product(x, hidden.clone() * reset)
        };
        let candidate = self.hidden_activation.forward(candidate);
        let stays = update.clone() * hidden;
        let state = candidate * update.neg().add_scalar(1.0) + stays;
        match self.clip {
            Some(clip) => state.clamp(-clip, clip),
            None => state,
        }
    }
}

impl From<nn::Gru> for Gru {
    fn from(layer: nn::Gru) -> Self {
        Self {
            update_gate: layer.update_gate.into(),
            reset_gate: layer.reset_gate.into(),
            new_gate: layer.new_gate.into(),
            d_hidden: layer.d_hidden,
            reset_after: layer.reset_after,
            gate_activation: layer.gate_activation,
            hidden_activation: layer.hidden_activation,
            clip: layer.clip,
        }
    }
}

impl From<Gru> for nn::Gru {
    fn from(layer: Gru) -> Self {
        Self {
            update_gate: layer.update_gate.into(),
            reset_gate: layer.reset_gate.into(),
            new_gate: layer.new_gate.into(),
            d_hidden: layer.d_hidden,
            reset_after: layer.reset_after,
            gate_activation: layer.gate_activation,
            hidden_activation: layer.hidden_activation,
            clip: layer.clip,
        }
    }
}
