//! One gate of a recurrent layer.

use burn::module::Module;
use burn::nn::{self, Initializer};
use burn::tensor::{Device, Tensor};

use super::Linear;

/// Two linear layers, of the input and of the hidden state, as [`burn::nn::GateController`].
///
/// The parameters are those of its two [`Linear`] layers, and are held as theirs.
///
/// # Shapes
/// Input `[B, d_input]`, hidden state and output `[B, d_output]`.
///
/// # Example
/// ```
/// use burn::nn::Initializer;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::nn::GateController;
///
/// let device = Device::default().autodiff();
/// let gate = GateController::new(3, 2, true, Initializer::Zeros, &device);
/// let (x, h) = (Tensor::zeros([4, 3], &device), Tensor::zeros([4, 2], &device));
/// assert_eq!(gate.gate_product(x, h).dims(), [4, 2]);
/// ```
#[derive(Module, Debug)]
pub struct GateController {
    /// Of the input.
    pub input_transform: Linear,
    /// Of the hidden state.
    pub hidden_transform: Linear,
}

impl GateController {
    /// A gate, with the arguments of burn's.
    pub fn new(
        d_input: usize,
        d_output: usize,
        bias: bool,
        initializer: Initializer,
        device: &Device,
    ) -> Self {
        nn::GateController::new(d_input, d_output, bias, initializer, device).into()
    }

    /// The sum of both layers.
    pub fn gate_product(&self, input: Tensor<2>, hidden: Tensor<2>) -> Tensor<2> {
        self.input_transform.forward(input) + self.hidden_transform.forward(hidden)
    }
}

impl From<nn::GateController> for GateController {
    fn from(gate: nn::GateController) -> Self {
        Self {
            input_transform: gate.input_transform.into(),
            hidden_transform: gate.hidden_transform.into(),
        }
    }
}

impl From<GateController> for nn::GateController {
    fn from(gate: GateController) -> Self {
        Self {
            input_transform: gate.input_transform.into(),
            hidden_transform: gate.hidden_transform.into(),
        }
    }
}
