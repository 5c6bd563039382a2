//! What a step of each optimizer does: one pass over a leaf, and what it reads, writes and computes.

use burn::module::{Module, Param};
use burn::tensor::{DType, Tensor};
use pergrad::prelude::*;
use pergrad::transforms::axis::Updates;
use pergrad::transforms::{PerExample, Transform};
use pergrad::{Optimizer, PerExampleGrads};

use crate::models::{device, fixed};

#[derive(Module, Debug)]
struct Leaf {
    w: Param<Tensor<1>>,
}

fn explained<T>(chain: T) -> String
where
    T: Transform<PerExample>,
    T::Out: Updates,
{
    let zeros = Tensor::<1>::zeros([10], (&device(), DType::F32));
    let model = Leaf {
        w: Param::from_tensor(zeros.require_grad()),
    };
    let grads = PerExampleGrads::builder()
        .leaf("w", fixed::<2>([4, 10], 1, DType::F32, &device()))
        .build()
        .unwrap();
    let mut optimizer = Optimizer::new(chain).unwrap();
    optimizer.step(model, grads).unwrap();
    assert_eq!(optimizer.passes(), 1);
    optimizer.explain()
}

#[test]
fn optimizers_of_the_mean() {
    insta::assert_snapshot!(explained(sgd(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 2 (200 B), writes 1 (40 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = add p %2 : [P]
"#);
    insta::assert_snapshot!(explained(sgd(0.1).momentum(0.9)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 3 (240 B), writes 2 (80 B)
    %0 = mean_B g : [P]
    %1 = mul @trace.sum $momentum : [P]
    %2 = add %0 %1 : [P]
    %4 = mul %2 %3 : [P]
    %5 = add p %4 : [P]
"#);
    insta::assert_snapshot!(explained(adam(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 4 (280 B), writes 3 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $b1 : [P]
    %4 = add %3 %2 : [P]
    %8 = div %4 %7 : [P]
    %9 = square %0 : [P]
    %11 = mul %9 %10 : [P]
    %12 = mul @ema_2.moment $b2 : [P]
    %13 = add %12 %11 : [P]
    %16 = div %13 %15 : [P]
    %17 = sqrt %16 : [P]
    %18 = add %17 $eps : [P]
    %19 = div_or_zero %8 %18 : [P]
    %21 = mul %19 %20 : [P]
    %22 = add p %21 : [P]
"#);
    insta::assert_snapshot!(explained(adamw(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 4 (280 B), writes 3 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $b1 : [P]
    %4 = add %3 %2 : [P]
    %8 = div %4 %7 : [P]
    %9 = square %0 : [P]
    %11 = mul %9 %10 : [P]
    %12 = mul @ema_2.moment $b2 : [P]
    %13 = add %12 %11 : [P]
    %16 = div %13 %15 : [P]
    %17 = sqrt %16 : [P]
    %18 = add %17 $eps : [P]
    %19 = div_or_zero %8 %18 : [P]
    %20 = mul p $weight_decay : [P]
    %21 = add %19 %20 : [P]
    %23 = mul %21 %22 : [P]
    %24 = add p %23 : [P]
"#);
    insta::assert_snapshot!(explained(lion(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 3 (240 B), writes 2 (80 B)
    %0 = mean_B g : [P]
    %1 = mul @scale_by_lion.moment $b1 : [P]
    %3 = mul %0 %2 : [P]
    %4 = add %1 %3 : [P]
    %5 = mul @scale_by_lion.moment $b2 : [P]
    %7 = mul %0 %6 : [P]
    %8 = add %5 %7 : [P]
    %9 = sign %4 : [P]
    %10 = mul p $weight_decay : [P]
    %11 = add %9 %10 : [P]
    %13 = mul %11 %12 : [P]
    %14 = add p %13 : [P]
"#);
}

#[test]
fn optimizers_of_the_sign() {
    insta::assert_snapshot!(explained(sign_sgd(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 2 (200 B), writes 1 (40 B)
    %0 = mean_B g : [P]
    %1 = sign %0 : [P]
    %3 = mul %1 %2 : [P]
    %4 = add p %3 : [P]
"#);
    insta::assert_snapshot!(explained(sign_ema(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 3 (240 B), writes 2 (80 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $beta : [P]
    %4 = add %3 %2 : [P]
    %5 = sign %4 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
"#);
    insta::assert_snapshot!(explained(signum(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 3 (240 B), writes 2 (80 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $beta : [P]
    %4 = add %3 %2 : [P]
    %5 = sign %4 : [P]
    %7 = mul %5 %6 : [P]
    %8 = add p %7 : [P]
"#);
    insta::assert_snapshot!(explained(micro_sign_sgd(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 3 (240 B), writes 2 (80 B)
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
fn optimizers_of_a_second_moment_of_the_examples() {
    insta::assert_snapshot!(explained(micro_adam(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 4 (280 B), writes 3 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $b1 : [P]
    %4 = add %3 %2 : [P]
    %8 = div %4 %7 : [P]
    %9 = square g : [B,P]
    %10 = mean_B %9 : [P]
    %12 = mul %10 %11 : [P]
    %13 = mul @ema_2.moment $b2 : [P]
    %14 = add %13 %12 : [P]
    %17 = div %14 %16 : [P]
    %18 = max %17 $at_least.bound : [P]
    %19 = sqrt %18 : [P]
    %20 = add %19 $eps : [P]
    %21 = div_or_zero %8 %20 : [P]
    %23 = mul %21 %22 : [P]
    %24 = add p %23 : [P]
"#);
    insta::assert_snapshot!(explained(micro_adam_var(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 4 (280 B), writes 3 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $b1 : [P]
    %4 = add %3 %2 : [P]
    %8 = div %4 %7 : [P]
    %9 = variance_B(ddof=1) g : [P]
    %11 = mul %9 %10 : [P]
    %12 = mul @ema_2.moment $b2 : [P]
    %13 = add %12 %11 : [P]
    %16 = div %13 %15 : [P]
    %17 = max %16 $at_least.bound : [P]
    %18 = sqrt %17 : [P]
    %19 = add %18 $eps : [P]
    %20 = div_or_zero %8 %19 : [P]
    %22 = mul %20 %21 : [P]
    %23 = add p %22 : [P]
"#);
    insta::assert_snapshot!(explained(micro_adam_msq(0.1)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 4 (280 B), writes 3 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $b1 : [P]
    %4 = add %3 %2 : [P]
    %8 = div %4 %7 : [P]
    %9 = variance_B(ddof=1) g : [P]
    %10 = square %0 : [P]
    %11 = div %9 B : [P]
    %12 = sub %10 %11 : [P]
    %14 = mul %12 %13 : [P]
    %15 = mul @ema_2.moment $b2 : [P]
    %16 = add %15 %14 : [P]
    %19 = div %16 %18 : [P]
    %20 = max %19 $at_least.bound : [P]
    %21 = sqrt %20 : [P]
    %22 = add %21 $eps : [P]
    %23 = div_or_zero %8 %22 : [P]
    %25 = mul %23 %24 : [P]
    %26 = add p %25 : [P]
"#);
    insta::assert_snapshot!(explained(adam_interpolation(0.1, 1.0, 0.25)), @r#"
leaf `w` [10], gradients in full
  one pass, reads 4 (280 B), writes 3 (120 B)
    %0 = mean_B g : [P]
    %2 = mul %0 %1 : [P]
    %3 = mul @ema.moment $b1 : [P]
    %4 = add %3 %2 : [P]
    %8 = div %4 %7 : [P]
    %9 = variance_B(ddof=1) g : [P]
    %10 = square %0 : [P]
    %11 = div %9 B : [P]
    %12 = sub %10 %11 : [P]
    %13 = mul %12 $a : [P]
    %14 = mul %9 $c : [P]
    %15 = add %13 %14 : [P]
    %17 = mul %15 %16 : [P]
    %18 = mul @ema_2.moment $b2 : [P]
    %19 = add %18 %17 : [P]
    %22 = div %19 %21 : [P]
    %23 = max %22 $at_least.bound : [P]
    %24 = sqrt %23 : [P]
    %25 = add %24 $eps : [P]
    %26 = div_or_zero %8 %25 : [P]
    %28 = mul %26 %27 : [P]
    %29 = add p %28 : [P]
"#);
}
