//! The two-dimensional transposed convolution.

use burn::module::{Module, Param};
use burn::nn::conv::{self, ConvTranspose2dConfig};
use burn::tensor::{Device, Tensor};

use super::channels::{Features, flat};
use super::untracked::{trained, untracked};
use super::windows::{Windows, weight_gradient};
use crate::capture::tape::{self, Use};
use crate::grads::form::Form;

/// A 2D transposed convolution, as [`burn::nn::conv::ConvTranspose2d`]: any stride, padding, output padding, dilation and number
/// of groups.
///
/// # Shapes
/// `weight [channels_in, channels_out / groups, kh, kw]`, `bias [channels_out]`; input `[B, channels_in, H, W]`, output
/// `[B, channels_out, H', W']`. Every pixel of the input has a window of the output: the `T = H W` windows are the tokens of the
/// weight, the `H' W'` pixels of the output those of the bias.
///
/// # Forms
/// | parameter | form |
/// |--|--|
/// | `weight`, one group | outer: the input `[B, T, channels_in]` and the windows of `d`, `[B, T, channels_out kh kw]` |
/// | `weight`, several groups | dense: every group has rows and columns of its own |
/// | `bias` | tokens: `d [B, H' W', channels_out]` |
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | output padding | pixels of it that no window reaches add to the gradient of the bias only |
///
/// # Example
/// ```
/// use burn::nn::conv::ConvTranspose2dConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::{check_per_example_grads, nn::ConvTranspose2d};
///
/// let device = Device::default().autodiff();
/// let config = ConvTranspose2dConfig::new([2, 3], [3, 3]).with_stride([2, 2]).with_padding([1, 1]);
/// let layer = ConvTranspose2d::new(&config, &device);
/// let x = Tensor::<4>::random([2, 2, 3, 3], Distribution::Default, &device);
/// let losses = |m: &ConvTranspose2d, b: std::ops::Range<usize>| {
///     let y = m.forward(x.clone().slice([b]));
///     (y.clone() * y).flatten::<2>(1, 3).sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&layer, 2, losses, 1e-5).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct ConvTranspose2d {
    /// `[channels_in, channels_out / groups, kh, kw]`.
    pub weight: Param<Tensor<4>>,
    /// `[channels_out]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// Pixels of the output from one window to the next.
    pub stride: [usize; 2],
    /// `[kh, kw]`.
    pub kernel_size: [usize; 2],
    /// Pixels between the elements of the kernel.
    pub dilation: [usize; 2],
    /// Into how many groups of channels the convolution falls.
    pub groups: usize,
    /// Pixels cut off all around the output.
    pub padding: [usize; 2],
    /// Pixels added at the end of the output.
    pub padding_out: [usize; 2],
    /// `[channels_in, channels_out]`.
    pub channels: [usize; 2],
}

impl ConvTranspose2d {
    /// A layer of burn's configuration.
    pub fn new(config: &ConvTranspose2dConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, channels_in, H, W] -> [B, channels_out, H', W']`.
    ///
    /// # Panics
    /// If the channels do not fit, as burn's layer does.
    pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let mut layer = conv::ConvTranspose2d::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        layer.weight = untracked(&self.weight);
        layer.bias = self.bias.as_ref().map(untracked);
        let z = layer.forward(input.clone());
        let mut uses = Vec::new();
        if let Some(weight) = trained(Some(&self.weight)) {
            let (windows, groups) = (self.windows(&input), self.groups);
            let rows = flat(input.inner());
            uses.push(Use::new(weight, move |d: Tensor<4>| {
                weight_gradient(rows, windows.columns(d), groups)
            }));
        }
        if let Some(bias) = trained(self.bias.as_ref()) {
            let form = |d: Tensor<4>| Form::Tokens(Features::Second.by_token(d));
            uses.push(Use::new(bias, form));
        }
        tape::record(z, self.weight.val().device(), uses)
    }

    /// The windows of the output; beyond its border, where the padding cut it off, the gradient is zero.
    fn windows(&self, input: &Tensor<4>) -> Windows {
        let [_, _, height, width] = input.dims();
        Windows {
            kernel: self.kernel_size,
            stride: self.stride,
            dilation: self.dilation,
            padding: self.padding.map(|padding| (padding, padding)),
            count: [height, width],
        }
    }
}

same_fields!(
    conv::ConvTranspose2d,
    ConvTranspose2d {
        weight,
        bias,
        stride,
        kernel_size,
        dilation,
        groups,
        padding,
        padding_out,
        channels
    }
);
