//! The two-dimensional transposed convolution.

use burn::nn::conv::ConvTranspose2dConfig;
use burn::tensor::DType;
use pergrad::check_per_example_grads;
use pergrad::nn::ConvTranspose2d;
use proptest::prelude::*;

use super::{holds, is_burns, losses, randomized, tolerance};
use crate::models::{device, random};

fn configs() -> Vec<ConvTranspose2dConfig> {
    let config = |channels, kernel| ConvTranspose2dConfig::new(channels, kernel);
    vec![
        config([2, 3], [3, 2]),
        config([1, 1], [1, 1]).with_bias(false),
        config([2, 3], [3, 3])
            .with_stride([2, 3])
            .with_padding([1, 0])
            .with_padding_out([1, 2]),
        config([2, 3], [2, 3])
            .with_dilation([2, 1])
            .with_padding([0, 2]),
        config([4, 6], [3, 3]).with_groups(2).with_stride([2, 1]),
        config([3, 3], [2, 2]).with_groups(3),
    ]
}

#[test]
fn captured_equals_one_example_at_a_time_for_every_option() {
    for config in configs() {
        let layer = ConvTranspose2d::new(&config, &device());
        holds(
            layer.clone(),
            [0, config.channels[0], 3, 4],
            ConvTranspose2d::forward,
        );
        // One pixel: T = 1.
        holds(
            layer,
            [0, config.channels[0], 1, 4],
            ConvTranspose2d::forward,
        );
    }
}

#[test]
fn the_layer_is_burns_for_every_option() {
    for config in configs() {
        let x = random([3, config.channels[0], 3, 4], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            burn::nn::conv::ConvTranspose2d::forward,
            ConvTranspose2d::forward,
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn captured_equals_one_example_at_a_time_for_random_shapes(
        examples in 1_usize..4,
        (groups, inputs, outputs) in (1_usize..3, 1_usize..3, 1_usize..3),
        kernel in prop::array::uniform2(1_usize..4),
        stride in prop::array::uniform2(1_usize..4),
        dilation in prop::array::uniform2(1_usize..3),
        padding in prop::array::uniform2(0_usize..2),
        more in prop::array::uniform2(0_usize..3),
        out in prop::array::uniform2(0_usize..3),
    ) {
        // The output padding is smaller than the stride, and some output must be left.
        let padding = [0, 1].map(|axis: usize| padding[axis].min((kernel[axis] - 1) * dilation[axis] / 2));
        let config = ConvTranspose2dConfig::new([inputs * groups, outputs * groups], kernel)
            .with_stride(stride)
            .with_dilation(dilation)
            .with_groups(groups)
            .with_padding(padding)
            .with_padding_out([out[0].min(stride[0] - 1), out[1].min(stride[1] - 1)]);
        let layer = randomized(ConvTranspose2d::new(&config, &device()), DType::F64);
        let x = random([examples, inputs * groups, 1 + more[0], 1 + more[1]], DType::F64, &device());
        let losses = |m: &ConvTranspose2d, b: std::ops::Range<usize>| losses(m.forward(x.clone().slice([b])));
        check_per_example_grads(&layer, examples, losses, tolerance(DType::F64)).unwrap();
    }
}
