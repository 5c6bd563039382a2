//! A whole optimizer step on 10 million parameters in f32, against the time to move the bytes that must move.
//!
//!     cargo bench --bench step [-- SUBSTRING]
//!
//! The floor is `move`: as many bytes as the step must read are read, and as many as it must write are written, by every core.

mod support;

use burn::module::{Module, Param};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Distribution, Tensor};
use pergrad::prelude::*;
use pergrad::{Optimizer, PerExampleGrads};
use rayon::prelude::*;
use support::Bench;

const SIZE: usize = 10_000_000;

#[derive(Module, Debug)]
struct Leaf {
    w: Param<Tensor<1>>,
}

/// Reads some vectors and adds to others in place.
fn move_bytes(read: &[Vec<f32>], written: &mut [Vec<f32>]) {
    for source in read {
        let sum = |chunk: &[f32]| {
            let mut lanes = [0.0_f32; 32];
            for part in chunk.chunks_exact(32) {
                lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x);
            }
            lanes.iter().sum::<f32>()
        };
        std::hint::black_box(source.par_chunks(1 << 16).map(sum).sum::<f32>());
    }
    for target in written {
        target
            .par_chunks_mut(1 << 16)
            .for_each(|chunk| chunk.iter_mut().for_each(|x| *x += 1.0));
    }
}

fn main() {
    let mut all = Bench::new(["step", "what"]);
    let device = Device::default().autodiff();
    let plain = Device::default();
    let normal = Distribution::Normal(0.0, 1.0);
    let model = || Leaf {
        w: Param::from_tensor(Tensor::<1>::random([SIZE], normal, &device)),
    };
    let g = Tensor::<1>::random([SIZE], normal, &plain);
    // Vectors that are only read, and vectors that are read and written.
    let floor = |all: &mut Bench, name: &str, reads: usize, writes: usize| {
        let read = vec![vec![0.5_f32; SIZE]; reads];
        let mut written = vec![vec![0.5_f32; SIZE]; writes];
        all.measure(name, "move", &mut || move_bytes(&read, &mut written))
    };

    let name = "adam, mean gradients";
    if all.wants(name) {
        let mut rows = vec![floor(&mut all, name, 1, 3)];
        let mut optimizer = Optimizer::aggregated(adam(1e-3)).unwrap();
        rows.push(step(&mut all, name, "pergrad", model(), |model| {
            let mut grads = GradientsParams::new();
            grads.register(model.w.id, g.clone());
            optimizer.step(model, grads).unwrap()
        }));
        let mut burns: ModuleOptimizer = AdamConfig::new().init();
        rows.push(step(&mut all, name, "burn-optim", model(), |model| {
            let mut grads = GradientsParams::new();
            grads.register(model.w.id, g.clone());
            burns.step(1e-3, model, grads)
        }));
        all.report(name, rows);
    }
    for (name, optimizer, state) in [
        (
            "sign_ema, mean gradients",
            Optimizer::aggregated(sign_ema(1e-3)),
            1,
        ),
        ("lion, mean gradients", Optimizer::aggregated(lion(1e-3)), 1),
    ] {
        if !all.wants(name) {
            continue;
        }
        let mut optimizer = optimizer.unwrap();
        let mut rows = vec![floor(&mut all, name, 1, 1 + state)];
        rows.push(step(&mut all, name, "pergrad", model(), |model| {
            let mut grads = GradientsParams::new();
            grads.register(model.w.id, g.clone());
            optimizer.step(model, grads).unwrap()
        }));
        all.report(name, rows);
    }
    for (name, optimizer, state) in [
        (
            "micro_adam, 8 examples",
            Optimizer::new(micro_adam(1e-3)),
            2,
        ),
        ("sign_ema, 8 examples", Optimizer::new(sign_ema(1e-3)), 1),
    ] {
        if !all.wants(name) {
            continue;
        }
        let mut optimizer = optimizer.unwrap();
        let g = Tensor::<2>::random([8, SIZE], normal, &plain);
        let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
        let mut rows = vec![floor(&mut all, name, 8, 1 + state)];
        rows.push(step(&mut all, name, "pergrad", model(), |model| {
            optimizer.step(model, grads.clone()).unwrap()
        }));
        all.report(name, rows);
    }
    all.finish();
}

/// Measures steps that take the model and give the next one.
fn step(
    all: &mut Bench,
    group: &str,
    name: &str,
    model: Leaf,
    mut next: impl FnMut(Leaf) -> Leaf,
) -> support::Row {
    let mut model = Some(model);
    all.measure(group, name, &mut || {
        let taken = model.take().expect("put back after each step");
        model = Some(next(taken));
    })
}
