//! The long short-term memory.

use burn::module::Module;
use burn::nn::activation::Activation;
use burn::nn::{self, LstmConfig, LstmState};
use burn::tensor::{Device, Tensor};

use super::GateController;

/// A long short-term memory, as [`burn::nn::Lstm`]: reversed, coupled gates, clipping, any activation.
///
/// It is unrolled through its [`Linear`](super::Linear) layers, so each of its parameters is held as theirs, with the T steps as
/// tokens.
///
/// # Shapes
/// Input `[B, T, d_input]`, output `[B, T, d_hidden]`, states `[B, d_hidden]`; `[T, B, ..]` if `batch_first` is off.
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | f64 or half precision | the first state and the output have the dtype of the input; burn's have the device's |
/// | an activation with parameters | they are outside pergrad's layers: a capture refuses them by name |
///
/// # Example
/// ```
/// use burn::nn::LstmConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::{check_per_example_grads, nn::Lstm};
///
/// let device = Device::default().autodiff();
/// let layer = Lstm::new(&LstmConfig::new(2, 3, true), &device);
/// let x = Tensor::<3>::random([2, 4, 2], Distribution::Default, &device);
/// let losses = |m: &Lstm, b: std::ops::Range<usize>| {
///     let (_, last) = m.forward(x.clone().slice([b]), None);
///     last.hidden.sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&layer, 2, losses, 1e-4).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct Lstm {
    /// What enters the cell.
    pub input_gate: GateController,
    /// What the cell keeps; missing if `input_forget`.
    pub forget_gate: Option<GateController>,
    /// What leaves the cell.
    pub output_gate: GateController,
    /// What would enter the cell.
    pub cell_gate: GateController,
    /// The size of the states.
    pub d_hidden: usize,
    /// Whether axis 0 is the batch and axis 1 the steps, or the other way round.
    pub batch_first: bool,
    /// Whether the last step comes first.
    pub reverse: bool,
    /// The cell stays between minus this and this.
    pub clip: Option<f64>,
    /// Whether the cell keeps what does not enter: forget = 1 - input.
    pub input_forget: bool,
    /// Of the input, forget and output gates.
    pub gate_activation: Activation,
    /// Of the cell gate.
    pub cell_activation: Activation,
    /// Of the cell, on its way out.
    pub hidden_activation: Activation,
}

impl Lstm {
    /// A layer of burn's configuration.
    pub fn new(config: &LstmConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass: the hidden state after every step, and the states after the last one. Without a state it starts from
    /// zeros.
    ///
    /// # Panics
    /// If the forget gate is missing and `input_forget` is off, as burn's layer does.
    pub fn forward(
        &self,
        batched_input: Tensor<3>,
        state: Option<LstmState<2>>,
    ) -> (Tensor<3>, LstmState<2>) {
        let input = if self.batch_first {
            batched_input
        } else {
            batched_input.swap_dims(0, 1)
        };
        let [examples, steps, _] = input.dims();
        let options = (&input.device(), input.dtype());
        let mut state = state.unwrap_or_else(|| {
            let zeros = Tensor::zeros([examples, self.d_hidden], options);
            LstmState::new(zeros.clone(), zeros)
        });
        let mut outputs = vec![Tensor::zeros([examples, 0, self.d_hidden], options); steps];
        for step in 0..steps {
            let at = if self.reverse { steps - 1 - step } else { step };
            let x = input.clone().narrow(1, at, 1).squeeze_dim(1);
            state = self.step(x, state);
            outputs[at] = state.hidden.clone().unsqueeze_dim(1);
        }
        let output = if steps == 0 {
            Tensor::zeros([examples, 0, self.d_hidden], options)
        } else {
            Tensor::cat(outputs, 1)
        };
        if self.batch_first {
            (output, state)
        } else {
            (output.swap_dims(0, 1), state)
        }
    }

    fn step(&self, x: Tensor<2>, state: LstmState<2>) -> LstmState<2> {
        let LstmState { cell, hidden } = state;
        let product = |gate: &GateController| gate.gate_product(x.clone(), hidden.clone());
        let gate = |gate: &GateController| self.gate_activation.forward(product(gate));
        let input = gate(&self.input_gate);
        let forget = if self.input_forget {
            input.clone().neg().add_scalar(1.0)
        } else {
            let forget = self.forget_gate.as_ref();
            gate(forget.expect("Forget gate must be present when input_forget is false"))
        };
        let output = gate(&self.output_gate);
        let candidate = self.cell_activation.forward(product(&self.cell_gate));
        let mut cell = forget * cell + input * candidate;
        if let Some(clip) = self.clip {
            cell = cell.clamp(-clip, clip);
        }
        let hidden = output * self.hidden_activation.forward(cell.clone());
        LstmState::new(cell, hidden)
    }
}

impl From<nn::Lstm> for Lstm {
    fn from(layer: nn::Lstm) -> Self {
        Self {
            input_gate: layer.input_gate.into(),
            forget_gate: layer.forget_gate.map(Into::into),
            output_gate: layer.output_gate.into(),
            cell_gate: layer.cell_gate.into(),
            d_hidden: layer.d_hidden,
            batch_first: layer.batch_first,
            reverse: layer.reverse,
            clip: layer.clip,
            input_forget: layer.input_forget,
            gate_activation: layer.gate_activation,
            cell_activation: layer.cell_activation,
            hidden_activation: layer.hidden_activation,
        }
    }
}

impl From<Lstm> for nn::Lstm {
    fn from(layer: Lstm) -> Self {
        Self {
            input_gate: layer.input_gate.into(),
            forget_gate: layer.forget_gate.map(Into::into),
            output_gate: layer.output_gate.into(),
            cell_gate: layer.cell_gate.into(),
            d_hidden: layer.d_hidden,
            batch_first: layer.batch_first,
            reverse: layer.reverse,
            clip: layer.clip,
            input_forget: layer.input_forget,
            gate_activation: layer.gate_activation,
            cell_activation: layer.cell_activation,
            hidden_activation: layer.hidden_activation,
        }
    }
}
