//! What a step does: how many passes, over how many bytes, and what is taken from factors.

use burn::nn::LinearConfig;
use burn::tensor::{DType, Tensor};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::transforms::axis::Updates;
use pergrad::transforms::{PerExample, Transform};
use pergrad::{Optimizer, PerExampleGrads};

use crate::models::{Mlp, device, fixed};

fn stepped<T>(chain: T) -> Optimizer
where
    T: Transform<PerExample>,
    T::Out: Updates,
{
    let layer = Linear::new(&LinearConfig::new(3, 5), &device());
    let grads = PerExampleGrads::builder()
        .leaf("weight", fixed::<3>([8, 3, 5], 1, DType::F32, &device()))
        .leaf("bias", fixed::<2>([8, 5], 2, DType::F32, &device()))
        .build()
        .unwrap();
    let mut optimizer = Optimizer::new(chain).unwrap();
    optimizer.step(layer, grads).unwrap();
    optimizer
}

#[test]
fn a_chain_that_stays_within_a_leaf_is_one_pass_over_each() {
    assert_eq!(stepped(adam(0.1)).passes(), 2);
    assert_eq!(stepped(adamw(0.1)).passes(), 2);
    assert_eq!(stepped(micro_adam(0.1)).passes(), 2);
    assert_eq!(stepped(micro_adam_var(0.1)).passes(), 2);
    assert_eq!(stepped(micro_adam_msq(0.1)).passes(), 2);
    assert_eq!(stepped(sign_ema(0.1)).passes(), 2);
    assert_eq!(stepped(lion(0.1)).passes(), 2);
    assert_eq!(stepped(chain((median(), adam(0.1)))).passes(), 2);
}

#[test]
fn a_norm_over_all_leaves_is_one_pass_more() {
    assert_eq!(
        stepped(chain((clip_per_example(1.0), adam(0.1)))).passes(),
        4
    );
    let twice = chain((
        clip_per_example(1.0),
        mean(),
        clip_by_global_norm(1.0),
        scale(-0.1),
    ));
    assert_eq!(stepped(twice).passes(), 6);
}

#[test]
fn four_statistics_are_one_pass() {
    let first = zip(mean(), chain((sign(), mean()))).map(|a, b| a + b);
    let second = zip(variance(0), chain((abs(), mean()))).map(|a, b| a + b);
    let statistics = zip(first, second).map(|a, b| a + b);
    assert_eq!(stepped(statistics).passes(), 2);
}

#[test]
fn the_text_of_a_step_names_passes_bytes_and_operations() {
    let clipped = chain((clip_per_example(1.0), mean(), ema(0.9), scale(-0.1)));
    insta::assert_snapshot!(stepped(clipped).explain(), @r#"
for all leaves together
    %3 = sqrt %2 : [B]
    %4 = less $clip_per_example.max_norm %3 : [B] bool
    %5 = select (%4) 1 0 : [B]
    %6 = sum_B %5 : []
    %7 = div $clip_per_example.max_norm %3 : [B]
    %8 = is_nan %3 : [B] bool
    %9 = select (%8) %3 1 : [B]
    %10 = select (%4) %7 %9 : [B]
leaf `weight` [3, 5], gradients in full
  one pass, reads 1 (480 B), writes 1 (32 B)
    %0 = square g : [B,P]
    %1 = sum_P %0 : [B] per leaf
  one pass, reads 4 (632 B), writes 2 (120 B)
    %15 = mul @ema.moment $ema.decay : [P]
    %11 = mul g %10 : [B,P]
    %12 = mean_B %11 : [P]
    %14 = mul %12 %13 : [P]
    %16 = add %15 %14 : [P]
    %20 = div %16 %19 : [P]
    %21 = mul %20 $scale.step_size : [P]
    %22 = add p %21 : [P]
leaf `bias` [5], gradients in full
  one pass, reads 1 (160 B), writes 1 (32 B)
    %0 = square g : [B,P]
    %1 = sum_P %0 : [B] per leaf
  one pass, reads 4 (232 B), writes 2 (40 B)
    %15 = mul @ema.moment $ema.decay : [P]
    %11 = mul g %10 : [B,P]
    %12 = mean_B %11 : [P]
    %14 = mul %12 %13 : [P]
    %16 = add %15 %14 : [P]
    %20 = div %16 %19 : [P]
    %21 = mul %20 $scale.step_size : [P]
    %22 = add p %21 : [P]
"#);
    insta::assert_snapshot!(stepped(sign_ema(0.1)).explain(), @r#"
leaf `weight` [3, 5], gradients in full
  one pass, reads 3 (600 B), writes 2 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $beta : [P]
    %4 = add %3 %2 : [P]
    %5 = sign %4 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
leaf `bias` [5], gradients in full
  one pass, reads 3 (200 B), writes 2 (40 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $beta : [P]
    %4 = add %3 %2 : [P]
    %5 = sign %4 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
"#);
}

#[test]
fn what_is_taken_from_factors_is_said() {
    let model = Mlp::new(16, 8, 1, &device());
    let x: Tensor<2> = fixed([4, 16], 1, DType::F32, &device());
    let mut optimizer = Optimizer::new(micro_sign_sgd(0.1)).unwrap();
    optimizer.step_on(model, |m| m.losses(x)).unwrap();
    insta::assert_snapshot!(optimizer.explain(), @r#"
leaf `first.weight` [16, 8], gradients the outer form [4, 1, 16] and [4, 1, 8]
  from factors
    %0 = sign g : [B,P]
  from factors
    %1 = mean_B %0 : [P]
  one pass, reads 3 (1536 B), writes 2 (1024 B)
    %3 = mul %1 %2 : [P]
    %4 = mul @ema.moment $beta : [P]
    %5 = add %4 %3 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
leaf `first.bias` [8], gradients in full
  one pass, reads 3 (192 B), writes 2 (64 B)
    %0 = sign g : [B,P]
    %1 = mean_B %0 : [P]
    %3 = mul %1 %2 : [P]
    %4 = mul @ema.moment $beta : [P]
    %5 = add %4 %3 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
leaf `second.weight` [8, 1], gradients in full
  one pass, reads 3 (192 B), writes 2 (64 B)
    %0 = sign g : [B,P]
    %1 = mean_B %0 : [P]
    %3 = mul %1 %2 : [P]
    %4 = mul @ema.moment $beta : [P]
    %5 = add %4 %3 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
leaf `second.bias` [1], gradients in full
  one pass, reads 3 (24 B), writes 2 (8 B)
    %0 = sign g : [B,P]
    %1 = mean_B %0 : [P]
    %3 = mul %1 %2 : [P]
    %4 = mul @ema.moment $beta : [P]
    %5 = add %4 %3 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
"#);
}

#[test]
fn a_monitor_of_some_leaves_costs_no_further_pass() {
    let model = Mlp::new(6, 5, 4, &device());
    let passes = |optimizer: &mut Optimizer| {
        let grads = PerExampleGrads::builder()
            .leaf("first.weight", fixed([7, 6, 5], 1, DType::F32, &device()))
            .leaf("first.bias", fixed([7, 5], 2, DType::F32, &device()))
            .leaf("second.weight", fixed([7, 5, 4], 3, DType::F32, &device()))
            .leaf("second.bias", fixed([7, 4], 4, DType::F32, &device()));
        optimizer.update(&model, &grads.build().unwrap()).unwrap();
        optimizer.passes()
    };
    let mut all = Optimizer::new(chain((monitor::gns(), adam(0.1)))).unwrap();
    let some = monitor::gns().leaves(Leaves::matching("*bias"));
    let mut some = Optimizer::new(chain((some, adam(0.1)))).unwrap();
    assert!(passes(&mut some) <= passes(&mut all));
}
