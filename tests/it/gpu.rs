//! What only a graphics card can show. Run it where there is one:
//!
//!     BURN_DEVICE=cuda cargo test --release --features cuda --test it -- --ignored gpu --nocapture
//!
//! The other tests hold on every device, so `BURN_DEVICE=cuda cargo test --features cuda` runs them there too.

use std::time::Instant;

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Distribution, Tensor};
use pergrad::prelude::*;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Optimizer, PerExampleGrads};

use crate::models::{assert_close, numbers};

#[derive(Module, Debug)]
struct Leaf {
    w: Param<Tensor<1>>,
}

fn leaf(size: usize, device: &Device) -> Leaf {
    let zeros = Tensor::<1>::zeros([size], &device.clone().autodiff());
    Leaf {
        w: Param::from_tensor(zeros.require_grad()),
    }
}

fn is_gpu(device: &Device) -> bool {
    let name = format!("{device:?}");
    ["Cuda", "Hip", "Wgpu"]
        .iter()
        .any(|kind| name.contains(kind))
}

/// A step of a chain on a device and on Flex, with the same numbers.
fn on_both(chain: &(impl Transform<PerExample, Out = Aggregated> + Clone), shape: [usize; 2]) {
    let card = Device::default();
    assert!(is_gpu(&card), "{card:?} is no graphics card");
    let flex = Device::flex();
    let g = Tensor::<2>::random(shape, Distribution::Normal(0.1, 1.0), &flex);
    let step = |device: &Device| {
        let model = leaf(shape[1], device);
        let g = g.clone().to_device(device);
        let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
        let mut optimizer = Optimizer::new(chain.clone()).unwrap();
        let model = optimizer.step(model, grads).unwrap();
        assert_eq!(optimizer.passes(), 1);
        numbers(model.w.val())
    };
    assert_close(&step(&card), &step(&flex), 1e-5);
}

#[test]
#[ignore = "needs a graphics card"]
fn gpu_chains_give_what_flex_gives() {
    for shape in [[64, 100_000], [7, 4097], [65_537, 64], [257, 257]] {
        on_both(&micro_adam(0.1), shape);
        on_both(&sign_ema(0.1), shape);
        on_both(
            &chain((median(), scale(-0.1))),
            [shape[0].min(1024), shape[1]],
        );
        on_both(
            &chain((trimmed_mean(1), scale(-0.1))),
            [shape[0].min(1024), shape[1]],
        );
    }
    println!("gpu_chains_give_what_flex_gives: ran 16 steps");
}

#[test]
#[ignore = "needs a graphics card"]
fn gpu_half_precision_accumulates_in_single() {
    let card = Device::default();
    assert!(is_gpu(&card));
    for dtype in [DType::F16, DType::BF16] {
        if !card.supports_dtype(dtype) {
            println!("{dtype:?} is not there");
            continue;
        }
        let g = Tensor::<2>::ones([4096, 64], &card).cast(dtype);
        let model = leaf(64, &card);
        let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
        let mut optimizer = Optimizer::new(chain((mean(), scale(1.0)))).unwrap();
        let model = optimizer.step(model, grads).unwrap();
        assert_eq!(numbers(model.w.val()), vec![1.0; 64]);
        println!("{dtype:?}: ran");
    }
}

#[test]
#[ignore = "needs a graphics card"]
fn gpu_statistics_run_at_the_speed_of_memory() {
    let card = Device::default();
    assert!(is_gpu(&card));
    let g = Tensor::<2>::random([64, 4_000_000], Distribution::Normal(0.1, 1.0), &card);
    let time = |mut f: Box<dyn FnMut()>| {
        for _ in 0..3 {
            f();
        }
        card.sync().unwrap();
        let start = Instant::now();
        for _ in 0..20 {
            f();
        }
        card.sync().unwrap();
        start.elapsed().as_secs_f64() / 20.0
    };
    let copied = g.clone();
    let copy = time(Box::new(move || drop(copied.clone().mul_scalar(2.0)))) / 2.0;
    let model = leaf(4_000_000, &card);
    let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
    let mut optimizer = Optimizer::new(micro_adam(0.1)).unwrap();
    let step = time(Box::new(move || {
        drop(optimizer.update(&model, &grads).unwrap())
    }));
    println!(
        "micro_adam over [64, 4e6]: {:.2} of a read of the gradients",
        step / copy
    );
}
