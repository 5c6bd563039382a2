//! The one-dimensional convolution.

use burn::module::Param;
use burn::nn::conv::{Conv1dConfig, Conv2dConfig};
use burn::nn::{PaddingConfig1d, PaddingConfig2d};
use burn::tensor::DType;
use pergrad::nn::Conv1d;
use pergrad::{PerExampleGrads, per_example_grads, per_example_grads_looped};
use proptest::prelude::*;

use super::{holds, is_burns, losses, randomized, tolerance};
use crate::models::{assert_close, device, numbers, random};

fn configs() -> Vec<Conv1dConfig> {
    vec![
        Conv1dConfig::new(2, 3, 3),
        Conv1dConfig::new(1, 1, 1).with_bias(false),
        Conv1dConfig::new(2, 3, 3).with_stride(2).with_dilation(2),
        Conv1dConfig::new(2, 3, 4).with_padding(PaddingConfig1d::Same),
        Conv1dConfig::new(2, 3, 3)
            .with_stride(3)
            .with_padding(PaddingConfig1d::Same),
        Conv1dConfig::new(2, 1, 2).with_padding(PaddingConfig1d::Explicit(2, 1)),
        Conv1dConfig::new(4, 6, 3).with_groups(2),
        Conv1dConfig::new(3, 3, 2).with_groups(3),
        Conv1dConfig::new(2, 2, 8), // one window
    ]
}

#[test]
fn captured_equals_one_example_at_a_time_for_every_option() {
    for config in configs() {
        let shape = [0, config.channels_in, 8];
        holds(Conv1d::new(&config, &device()), shape, Conv1d::forward);
    }
}

#[test]
fn the_layer_is_burns_for_every_option() {
    for config in configs() {
        let x = random([3, config.channels_in, 8], DType::F32, &device());
        let burn = config.init(&device());
        is_burns(burn, x, burn::nn::conv::Conv1d::forward, Conv1d::forward);
    }
}

/// The same convolution of an image of one row, by burn's two-dimensional layer.
///
/// burn 0.22.1 computes the weight gradient of a grouped 1D convolution wrongly when the stride leaves a rest
/// (`conv1d_weight_grad_groups` does not crop it, `conv2d_weight_grad_groups` does), so the 1D layer cannot be the oracle.
fn image(layer: &Conv1d, (left, right): (usize, usize)) -> burn::nn::conv::Conv2d {
    let weight = layer.weight.val().inner().unsqueeze_dim::<4>(2);
    let [outputs, inputs, _, kernel] = weight.dims();
    let config = Conv2dConfig::new([inputs * layer.groups, outputs], [1, kernel])
        .with_stride([1, layer.stride])
        .with_dilation([1, layer.dilation])
        .with_groups(layer.groups)
        .with_padding(PaddingConfig2d::Explicit(0, left, 0, right));
    let mut image = config.init(&device());
    image.weight = Param::from_tensor(weight.autodiff());
    image.bias = layer.bias.clone();
    image
}

/// The padding in numbers; that of `Same` by its definition: `ceil(length / stride)` windows.
fn padding(layer: &Conv1d, length: usize) -> (usize, usize) {
    match layer.padding {
        PaddingConfig1d::Explicit(left, right) => (left, right),
        PaddingConfig1d::Valid => (0, 0),
        PaddingConfig1d::Same => {
            let windows = length.div_ceil(layer.stride);
            let reach = (windows - 1) * layer.stride + layer.kernel_size;
            let total = reach.saturating_sub(length);
            (total / 2, total.div_ceil(2))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn captured_equals_one_example_at_a_time_for_random_shapes(
        examples in 1_usize..4,
        (groups, inputs, outputs) in (1_usize..3, 1_usize..3, 1_usize..3),
        (kernel, stride, dilation) in (1_usize..4, 1_usize..4, 1_usize..3),
        (left, right, more) in (0_usize..3, 0_usize..3, 0_usize..5),
        same in any::<bool>(),
    ) {
        let config = Conv1dConfig::new(inputs * groups, outputs * groups, kernel)
            .with_stride(stride)
            .with_dilation(dilation)
            .with_groups(groups)
            .with_padding(if same { PaddingConfig1d::Same } else { PaddingConfig1d::Explicit(left, right) });
        let layer = randomized(Conv1d::new(&config, &device()), DType::F64);
        let length = (kernel - 1) * dilation + 1 + more;
        let x = random([examples, inputs * groups, length], DType::F64, &device());
        let (_, grads) = per_example_grads(&layer, |m| losses(m.forward(x.clone()))).unwrap();
        let image = image(&layer, padding(&layer, length));
        let x = x.unsqueeze_dim::<4>(2);
        let (_, known) = per_example_grads_looped(&image, examples, |m, b| {
            losses(m.forward(x.clone().slice([b])))
        })
        .unwrap();
        for leaf in ["weight", "bias"] {
            let dense = |grads: &PerExampleGrads| numbers(grads.form(leaf).unwrap().clone().into_dense());
            assert_close(&dense(&grads), &dense(&known), tolerance(DType::F64));
        }
    }
}
