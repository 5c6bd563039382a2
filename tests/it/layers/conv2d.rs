//! The two-dimensional convolution.

use burn::nn::PaddingConfig2d;
use burn::nn::conv::Conv2dConfig;
use burn::tensor::{DType, Tensor};
use pergrad::grads::form::Form;
use pergrad::nn::Conv2d;
use pergrad::{check_per_example_grads, per_example_grads};
use proptest::prelude::*;

use super::{holds, is_burns, losses, randomized, tolerance};
use crate::models::{device, numbers, random};

fn configs() -> Vec<Conv2dConfig> {
    let config = |channels, kernel| Conv2dConfig::new(channels, kernel);
    vec![
        config([2, 3], [3, 3]),
        config([1, 1], [1, 1]).with_bias(false),
        config([2, 3], [3, 2])
            .with_stride([2, 3])
            .with_dilation([1, 2]),
        config([2, 3], [2, 4]).with_padding(PaddingConfig2d::Same),
        config([2, 3], [3, 3])
            .with_stride([2, 2])
            .with_padding(PaddingConfig2d::Same),
        config([3, 2], [3, 3]).with_padding(PaddingConfig2d::Explicit(1, 2, 0, 3)),
        config([4, 6], [3, 3])
            .with_groups(2)
            .with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1)),
        config([3, 6], [2, 2]).with_groups(3), // depthwise, two filters a channel
        config([2, 2], [6, 7]),                // one window
    ]
}

#[test]
fn captured_equals_one_example_at_a_time_for_every_option() {
    for config in configs() {
        let shape = [0, config.channels[0], 6, 7];
        holds(Conv2d::new(&config, &device()), shape, Conv2d::forward);
    }
}

#[test]
fn the_layer_is_burns_for_every_option() {
    for config in configs() {
        let x = random([3, config.channels[0], 6, 7], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            burn::nn::conv::Conv2d::forward,
            Conv2d::forward,
        );
    }
}

#[test]
fn one_group_is_held_as_factors_and_several_as_dense() {
    let x = random([2, 4, 5, 5], DType::F32, &device());
    for (groups, tokens) in [(1, 9), (2, 1)] {
        let config = Conv2dConfig::new([4, 2], [3, 3]).with_groups(groups);
        let layer = Conv2d::new(&config, &device());
        let (_, grads) = per_example_grads(&layer, |m| losses(m.forward(x.clone()))).unwrap();
        let form = grads.form("weight").unwrap();
        assert_eq!(matches!(form, Form::Outer { .. }), groups == 1);
        assert_eq!(form.tokens(), tokens);
        assert_eq!(grads.form("bias").unwrap().tokens(), 9);
    }
}

#[test]
fn an_infinite_pixel_stays_inside_its_own_window() {
    // One-hot unfolding would multiply it by zero and spread NaN over the window's other elements.
    let layer = Conv2d::new(
        &Conv2dConfig::new([1, 1], [1, 2]).with_bias(false),
        &device(),
    );
    let x = Tensor::<4>::from_floats([[[[f32::INFINITY, 1.0]]]], &device());
    let (_, grads) = per_example_grads(&layer, |m| m.forward(x).reshape([1])).unwrap();
    assert_eq!(
        numbers(grads.leaf::<5>("weight").unwrap()),
        [f64::INFINITY, 1.0]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn captured_equals_one_example_at_a_time_for_random_shapes(
        examples in 1_usize..4,
        groups in 1_usize..3,
        (inputs, outputs) in (1_usize..3, 1_usize..3),
        kernel in prop::array::uniform2(1_usize..4),
        stride in prop::array::uniform2(1_usize..4),
        dilation in prop::array::uniform2(1_usize..3),
        padding in prop::array::uniform4(0_usize..3),
        more in prop::array::uniform2(0_usize..4),
        which in 0..3,
    ) {
        let [top, left, bottom, right] = padding;
        // `Same` does not look at the dilation, so an input as large as the spread kernel always has a window.
        let size = [0, 1].map(|axis: usize| (kernel[axis] - 1) * dilation[axis] + 1 + more[axis]);
        let config = Conv2dConfig::new([inputs * groups, outputs * groups], kernel)
            .with_stride(stride)
            .with_dilation(dilation)
            .with_groups(groups)
            .with_padding(match which {
                0 => PaddingConfig2d::Same,
                1 => PaddingConfig2d::Valid,
                _ => PaddingConfig2d::Explicit(top, left, bottom, right),
            });
        let layer = randomized(Conv2d::new(&config, &device()), DType::F64);
        let x = random([examples, inputs * groups, size[0], size[1]], DType::F64, &device());
        let losses = |m: &Conv2d, b: std::ops::Range<usize>| losses(m.forward(x.clone().slice([b])));
        check_per_example_grads(&layer, examples, losses, tolerance(DType::F64)).unwrap();
    }
}
