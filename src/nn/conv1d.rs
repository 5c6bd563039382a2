//! The one-dimensional convolution.

use burn::module::{Module, Param};
use burn::nn::PaddingConfig1d;
use burn::nn::conv::{self, Conv1dConfig};
use burn::tensor::{Device, Tensor};

use super::channels::Features;
use super::untracked::{trained, untracked};
use super::windows::{Windows, same_padding, weight_gradient};
use crate::capture::tape::{self, Use};
use crate::grads::form::Form;

/// A 1D convolution, as [`burn::nn::conv::Conv1d`]: any stride, padding, dilation and number of groups.
///
/// # Shapes
/// `weight [channels_out, channels_in / groups, k]`, `bias [channels_out]`; input `[B, channels_in, L]`, output
/// `[B, channels_out, T]`. The T windows are the tokens of one example.
///
/// # Forms
/// | parameter | form |
/// |--|--|
/// | `weight`, one group | outer: `d [B, T, channels_out]` and the windows `[B, T, channels_in k]` |
/// | `weight`, several groups | dense: every group has rows and columns of its own |
/// | `bias` | tokens: `d [B, T, channels_out]` |
///
/// # Edge cases
/// Those of [`Conv2d`](super::Conv2d), and
///
/// | case | what happens |
/// |--|--|
/// | several groups, and a stride that leaves a rest | right when captured; outside a capture the weight's gradient is that of burn 0.22.1, which is wrong |
///
/// # Example
/// ```
/// use burn::nn::conv::Conv1dConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::Conv1d, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = Conv1d::new(&Conv1dConfig::new(1, 1, 2), &device);
/// let x = Tensor::<3>::from_floats([[[1.0, 2.0, 4.0]]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(x).sum_dim(2).flatten(0, 2)).unwrap();
/// let g = grads.leaf::<4>("weight").unwrap(); // 1 + 2 and 2 + 4
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [3.0, 6.0]);
/// ```
#[derive(Module, Debug)]
pub struct Conv1d {
    /// `[channels_out, channels_in / groups, k]`.
    pub weight: Param<Tensor<3>>,
    /// `[channels_out]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// Places from one window to the next.
    pub stride: usize,
    /// The size of the kernel.
    pub kernel_size: usize,
    /// Places between the elements of the kernel.
    pub dilation: usize,
    /// Into how many groups of channels the convolution falls.
    pub groups: usize,
    /// The zeros around the input.
    #[module(skip)]
    pub padding: PaddingConfig1d,
}

impl Conv1d {
    /// A layer of burn's configuration.
    pub fn new(config: &Conv1dConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, channels_in, L] -> [B, channels_out, T]`.
    ///
    /// # Panics
    /// If the channels do not fit, as burn's layer does.
    pub fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        let mut layer = conv::Conv1d::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        layer.weight = untracked(&self.weight);
        layer.bias = self.bias.as_ref().map(untracked);
        let z = layer.forward(input.clone());
        let mut uses = Vec::new();
        if let Some(weight) = trained(Some(&self.weight)) {
            let windows = self.windows(input.dims()[2], z.dims()[2]);
            let groups = self.groups;
            let input = input.inner().unsqueeze_dim::<4>(2);
            uses.push(Use::new(weight, move |d: Tensor<3>| {
                weight_gradient(d, windows.columns(input), groups)
            }));
        }
        if let Some(bias) = trained(self.bias.as_ref()) {
            let form = |d: Tensor<3>| Form::Tokens(Features::Second.by_token(d));
            uses.push(Use::new(bias, form));
        }
        tape::record(z, self.weight.val().device(), uses)
    }

    /// The windows of an image of one row.
    fn windows(&self, length: usize, count: usize) -> Windows {
        let padding = match self.padding {
            PaddingConfig1d::Valid => (0, 0),
            PaddingConfig1d::Same => same_padding(length, self.kernel_size, self.stride),
            PaddingConfig1d::Explicit(left, right) => (left, right),
        };
        Windows {
            kernel: [1, self.kernel_size],
            stride: [1, self.stride],
            dilation: [1, self.dilation],
            padding: [(0, 0), padding],
            count: [1, count],
        }
    }
}

same_fields!(
    conv::Conv1d,
    Conv1d {
        weight,
        bias,
        stride,
        kernel_size,
        dilation,
        groups,
        padding
    }
);
