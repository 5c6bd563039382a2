//! The two-dimensional convolution.

use burn::module::{Module, Param};
use burn::nn::PaddingConfig2d;
use burn::nn::conv::{self, Conv2dConfig};
use burn::tensor::{Device, Tensor};

use super::channels::{Features, flat};
use super::untracked::{trained, untracked};
use super::windows::{Windows, same_padding, weight_gradient};
use crate::capture::tape::{self, Use};
use crate::grads::form::Form;

/// A 2D convolution, as [`burn::nn::conv::Conv2d`]: any stride, padding, dilation and number of groups.
///
/// # Shapes
/// `weight [channels_out, channels_in / groups, kh, kw]`, `bias [channels_out]`; input `[B, channels_in, H, W]`, output
/// `[B, channels_out, H', W']`. The `T = H' W'` windows are the tokens of one example.
///
/// # Forms
/// | parameter | form |
/// |--|--|
/// | `weight`, one group | outer: `d [B, T, channels_out]` and the windows `[B, T, channels_in kh kw]` |
/// | `weight`, several groups | dense: every group has rows and columns of its own |
/// | `bias` | tokens: `d [B, T, channels_out]` |
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | `Same` padding with an even kernel | the odd row or column is padded at the end, as in burn |
/// | the stride does not reach the last pixels | they get no window, and add nothing |
///
/// # Example
/// ```
/// use burn::nn::{PaddingConfig2d, conv::Conv2dConfig};
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::{check_per_example_grads, nn::Conv2d};
///
/// let device = Device::default().autodiff();
/// let config = Conv2dConfig::new([2, 4], [3, 3]).with_stride([2, 2]).with_padding(PaddingConfig2d::Same);
/// let layer = Conv2d::new(&config, &device);
/// let x = Tensor::<4>::random([3, 2, 5, 5], Distribution::Default, &device);
/// let losses = |m: &Conv2d, b: std::ops::Range<usize>| {
///     let y = m.forward(x.clone().slice([b]));
///     (y.clone() * y).flatten::<2>(1, 3).sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&layer, 3, losses, 1e-5).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct Conv2d {
    /// `[channels_out, channels_in / groups, kh, kw]`.
    pub weight: Param<Tensor<4>>,
    /// `[channels_out]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// Pixels from one window to the next.
    pub stride: [usize; 2],
    /// `[kh, kw]`.
    pub kernel_size: [usize; 2],
    /// Pixels between the elements of the kernel.
    pub dilation: [usize; 2],
    /// Into how many groups of channels the convolution falls.
    pub groups: usize,
    /// The zeros around the input.
    #[module(skip)]
    pub padding: PaddingConfig2d,
}

impl Conv2d {
    /// A layer of burn's configuration.
    pub fn new(config: &Conv2dConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, channels_in, H, W] -> [B, channels_out, H', W']`.
    ///
    /// # Panics
    /// If the channels do not fit, as burn's layer does.
    pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let mut layer = conv::Conv2d::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        layer.weight = untracked(&self.weight);
        layer.bias = self.bias.as_ref().map(untracked);
        let z = layer.forward(input.clone());
        let mut uses = Vec::new();
        if let Some(weight) = trained(Some(&self.weight)) {
            let [_, _, height, width] = z.dims();
            let (windows, groups) = (self.windows(&input, [height, width]), self.groups);
            let input = input.inner();
            uses.push(Use::new(weight, move |d: Tensor<4>| {
                weight_gradient(flat(d), windows.columns(input), groups)
            }));
        }
        if let Some(bias) = trained(self.bias.as_ref()) {
            let form = |d: Tensor<4>| Form::Tokens(Features::Second.by_token(d));
            uses.push(Use::new(bias, form));
        }
        tape::record(z, self.weight.val().device(), uses)
    }

    fn windows(&self, input: &Tensor<4>, count: [usize; 2]) -> Windows {
        let [_, _, height, width] = input.dims();
        let (kernel, stride) = (self.kernel_size, self.stride);
        let padding = match self.padding {
            PaddingConfig2d::Valid => [(0, 0); 2],
            PaddingConfig2d::Same => [
                same_padding(height, kernel[0], stride[0]),
                same_padding(width, kernel[1], stride[1]),
            ],
            PaddingConfig2d::Explicit(top, left, bottom, right) => [(top, bottom), (left, right)],
        };
        Windows {
            kernel,
            stride,
            dilation: self.dilation,
            padding,
            count,
        }
    }
}

same_fields!(
    conv::Conv2d,
    Conv2d {
        weight,
        bias,
        stride,
        kernel_size,
        dilation,
        groups,
        padding
    }
);
