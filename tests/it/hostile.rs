//! What a hostile reader suspects.

use burn::module::{Module, Param};
use burn::tensor::{DType, Shape, Tensor, TensorData};
use pergrad::distributed::Threads;
use pergrad::prelude::*;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Optimizer, PerExampleGrads, Settings};

use crate::models::{assert_close, device, numbers};

#[derive(Module, Debug)]
struct Two {
    w: Param<Tensor<1>>,
    b: Param<Tensor<1>>,
}

fn leaf(values: &[f64], dtype: DType) -> Param<Tensor<1>> {
    let data = TensorData::new(values.to_vec(), [values.len()]).convert_dtype(dtype);
    let x = Tensor::<1>::from_data(data, (&device().inner(), dtype));
    Param::from_tensor(x.autodiff().require_grad())
}

fn two(w: usize, b: usize, dtypes: [DType; 2]) -> Two {
    let values = |n: usize| (0..n).map(|i| 1.0 + i as f64 / 4.0).collect::<Vec<_>>();
    Two {
        w: leaf(&values(w), dtypes[0]),
        b: leaf(&values(b), dtypes[1]),
    }
}

fn rows(x: &[f64], size: usize, dtype: DType) -> Tensor<2> {
    let shape = [x.len().checked_div(size).unwrap_or(0), size];
    let data = TensorData::new(x.to_vec(), shape).convert_dtype(dtype);
    Tensor::from_data(data, (&device().inner(), dtype))
}

fn wave(seed: usize, examples: usize, size: usize) -> Vec<f64> {
    let value = |at: usize| ((at * 7919 + seed * 31 + 3) % 17) as f64 / 4.0 - 2.0;
    (0..examples * size).map(value).collect()
}

/// Gradients of examples `from..to` of a step.
fn grads(model: &Two, step: usize, from: usize, to: usize) -> PerExampleGrads {
    let of = |seed: usize, p: &Param<Tensor<1>>| {
        let size = p.val().dims()[0];
        let all = wave(seed, 16, size);
        if size == 0 || from == to {
            return Tensor::<2>::zeros(
                Shape::new([to - from, size]),
                (&device().inner(), p.val().dtype()),
            );
        }
        rows(&all[from * size..to * size], size, p.val().dtype())
    };
    let builder = PerExampleGrads::builder();
    let builder = builder.leaf("w", of(10 + step, &model.w));
    builder.leaf("b", of(50 + step, &model.b)).build().unwrap()
}

fn values(model: &Two) -> Vec<f64> {
    let mut values = numbers(model.w.val());
    if model.b.val().dims()[0] > 0 {
        values.extend(numbers(model.b.val()));
    }
    values
}

fn whole(mut optimizer: Optimizer, mut model: Two, steps: usize) -> Vec<f64> {
    for step in 0..steps {
        let g = grads(&model, step, 0, 8);
        model = optimizer.step(model, g).unwrap();
    }
    values(&model)
}

fn parts(
    mut optimizer: Optimizer,
    mut model: Two,
    steps: usize,
    reload: impl Fn() -> Optimizer,
) -> Vec<f64> {
    for step in 0..steps {
        let mut batch = optimizer
            .accumulate(&model, grads(&model, step, 3, 8))
            .unwrap();
        let more = optimizer
            .accumulate(&model, grads(&model, step, 0, 3))
            .unwrap();
        batch.merge(more).unwrap();
        model = optimizer.step_accumulated(model, batch).unwrap();
        let saved = optimizer.state(&model).unwrap();
        optimizer = reload();
        optimizer.load(&model, &saved).unwrap();
    }
    values(&model)
}

const F32: [DType; 2] = [DType::F32; 2];
const F64: [DType; 2] = [DType::F64; 2];

fn plain(optimizer: Optimizer) -> Optimizer {
    optimizer.with_settings(Settings::default().kernels(false))
}

fn kernels_or_not(make: impl Fn() -> Optimizer, model: impl Fn() -> Two) {
    let got = whole(make(), model(), 3);
    let want = whole(plain(make()), model(), 3);
    assert_close(&got, &want, 1e-5);
}

#[test]
fn a_leaf_that_is_frozen_before_the_mean_needs_no_input() {
    let make =
        || Optimizer::new(chain((freeze(Leaves::matching("b")), mean(), scale(-1.0)))).unwrap();
    kernels_or_not(make, || two(4, 3, F32));
}

#[test]
fn a_frozen_leaf_that_is_clipped_with_the_others_needs_no_input() {
    let make = || {
        let links = (
            freeze(Leaves::matching("b")),
            clip_per_example(0.5),
            mean(),
            scale(-1.0),
        );
        Optimizer::new(chain(links)).unwrap()
    };
    kernels_or_not(make, || two(4, 3, F32));
}

#[test]
fn a_step_that_the_host_masks_needs_no_input() {
    let make = || {
        Optimizer::new(chain((
            conditionally_mask(sign(), step_ge(2)),
            mean(),
            scale(-1.0),
        )))
        .unwrap()
    };
    kernels_or_not(make, || two(4, 3, F32));
}

#[test]
fn a_frozen_leaf_in_parts() {
    let make = || {
        let links = (
            freeze(Leaves::matching("b")),
            square(),
            mean(),
            ema(0.9),
            scale(-1.0),
        );
        Optimizer::new(chain(links)).unwrap()
    };
    let got = parts(make(), two(4, 3, F32), 3, make);
    assert_close(&got, &whole(plain(make()), two(4, 3, F32), 3), 1e-5);
}

#[test]
fn leaves_of_f32_beside_leaves_of_f64() {
    for dtypes in [[DType::F64, DType::F32], [DType::F32, DType::F64]] {
        let make = || Optimizer::new(chain((square(), mean(), ema(0.9), scale(-0.1)))).unwrap();
        kernels_or_not(make, || two(8, 8, dtypes));
    }
}

#[test]
fn leaves_of_f16_beside_leaves_of_f64() {
    let make = || Optimizer::new(chain((square(), mean(), ema(0.9), scale(-0.1)))).unwrap();
    let got = whole(make(), two(8, 8, [DType::F16, DType::F64]), 2);
    let want = whole(plain(make()), two(8, 8, [DType::F16, DType::F64]), 2);
    assert_close(&got, &want, 2e-3);
}

/// Gradients in a wider dtype than the leaf's.
#[test]
fn gradients_of_f64_of_a_leaf_of_f32() {
    let run = |kernels: bool| {
        let optimizer = Optimizer::new(chain((square(), mean(), scale(-0.1)))).unwrap();
        let mut optimizer = optimizer.with_settings(Settings::default().kernels(kernels));
        let g = |seed| rows(&wave(seed, 8, 8), 8, DType::F64);
        let g = PerExampleGrads::builder()
            .leaf("w", g(1))
            .leaf("b", g(2))
            .build()
            .unwrap();
        optimizer
            .step(two(8, 8, F32), g)
            .map(|m| values(&m))
            .map_err(|e| e.to_string())
    };
    match (run(true), run(false)) {
        (Ok(got), Ok(want)) => assert_close(&got, &want, 1e-5),
        (got, want) => assert_eq!(got, want),
    }
}

#[test]
fn replicas_whose_chain_reduces_nothing_count_all_examples() {
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads = Threads::of(2).into_iter().zip([(0, 5), (5, 8)]);
        let threads = threads.map(|(collective, (from, to))| {
            scope.spawn(move || {
                let mut optimizer = Optimizer::new(chain((mean(), set_to_zero()))).unwrap();
                let model = two(4, 3, F32);
                let part = optimizer
                    .accumulate(&model, grads(&model, 0, from, to))
                    .unwrap();
                let batch = part.all_reduce(&collective).unwrap();
                let count = batch.examples();
                optimizer.step_accumulated(model, batch).unwrap();
                count
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(counts, [8, 8]);
}

#[test]
fn a_leaf_without_elements_in_parts() {
    for dtype in [F32, F64] {
        let make = || Optimizer::new(micro_adam_var(0.1)).unwrap();
        let got = parts(make(), two(4, 0, dtype), 3, make);
        assert_close(&got, &whole(plain(make()), two(4, 0, dtype), 3), 1e-5);
        let make = || Optimizer::new(adam(0.1)).unwrap();
        let got = parts(make(), two(4, 0, dtype), 3, make);
        assert_close(&got, &whole(plain(make()), two(4, 0, dtype), 3), 1e-5);
    }
}

#[test]
fn replicas_with_a_leaf_without_elements() {
    let got: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let threads = Threads::of(2).into_iter().zip([(0, 5), (5, 8)]);
        let threads = threads.map(|(collective, (from, to))| {
            scope.spawn(move || {
                let mut optimizer = Optimizer::new(micro_adam_var(0.1)).unwrap();
                let mut model = two(4, 0, F64);
                for step in 0..2 {
                    let part = optimizer
                        .accumulate(&model, grads(&model, step, from, to))
                        .unwrap();
                    let batch = part.all_reduce(&collective).unwrap();
                    model = optimizer.step_accumulated(model, batch).unwrap();
                }
                values(&model)
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let want = whole(
        plain(Optimizer::new(micro_adam_var(0.1)).unwrap()),
        two(4, 0, F64),
        2,
    );
    assert_close(&got[0], &want, 1e-12);
    assert_eq!(got[0], got[1]);
}

#[derive(Clone, Copy, Debug)]
struct Norms;

impl Transform<PerExample> for Norms {
    type Out = Aggregated;
    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        cx.emit("norms", &g.sq_norm());
        g.sum()
    }
}

#[test]
fn an_empty_part_has_no_metrics_and_loses_none() {
    let mut optimizer = Optimizer::new(Norms).unwrap();
    let model = two(4, 3, F32);
    let mut batch = optimizer
        .accumulate(&model, grads(&model, 0, 0, 0))
        .unwrap();
    batch
        .merge(
            optimizer
                .accumulate(&model, grads(&model, 0, 0, 8))
                .unwrap(),
        )
        .unwrap();
    batch
        .merge(
            optimizer
                .accumulate(&model, grads(&model, 0, 8, 8))
                .unwrap(),
        )
        .unwrap();
    let stepped = optimizer.step_accumulated(model.clone(), batch).unwrap();
    let got = optimizer.metrics().unwrap();
    let mut other = plain(Optimizer::new(Norms).unwrap());
    let want = values(&other.step(model.clone(), grads(&model, 0, 0, 8)).unwrap());
    assert_close(&values(&stepped), &want, 1e-6);
    let want = other.metrics().unwrap();
    for (name, want) in want {
        assert_close(&got[&name], &want, 1e-6);
    }
}

#[test]
fn masked_state_in_parts_saved_and_loaded_is_the_whole() {
    for dtype in [F32, F64] {
        let make = || {
            let inner = masked(scale_by_adam(), Leaves::matching("w"));
            Optimizer::new(chain((square(), mean(), inner, scale(-0.1)))).unwrap()
        };
        let got = parts(make(), two(4, 3, dtype), 4, make);
        assert_close(&got, &whole(plain(make()), two(4, 3, dtype), 4), 1e-5);
    }
}

#[test]
fn a_guard_with_a_schedule_inside_in_parts() {
    let make = || {
        let inner = chain((scale_by_adam(), scale(linear_schedule(-0.1, -0.5, 3))));
        Optimizer::new(chain((mean(), apply_if_finite(inner, 3.0)))).unwrap()
    };
    let poisoned = |model: &Two, step: usize, from: usize, to: usize| {
        if step != 1 || from >= 3 {
            return grads(model, step, from, to);
        }
        let mut w = wave(3, to - from, 4);
        w[5] = f64::NAN;
        let b = wave(4, to - from, 3);
        let builder = PerExampleGrads::builder().leaf("w", rows(&w, 4, DType::F64));
        builder.leaf("b", rows(&b, 3, DType::F64)).build().unwrap()
    };
    let mut model = two(4, 3, F64);
    let mut other = two(4, 3, F64);
    let (mut optimizer, mut reference) = (make(), plain(make()));
    for step in 0..5 {
        let mut batch = optimizer
            .accumulate(&model, poisoned(&model, step, 3, 8))
            .unwrap();
        let more = optimizer
            .accumulate(&model, poisoned(&model, step, 0, 3))
            .unwrap();
        batch.merge(more).unwrap();
        model = optimizer.step_accumulated(model, batch).unwrap();
        let saved = optimizer.state(&model).unwrap();
        optimizer = make();
        optimizer.load(&model, &saved).unwrap();
        let g = poisoned(&other, step, 0, 8);
        let g = if step == 1 {
            let mut w = wave(3, 8, 4);
            w[5] = f64::NAN;
            let builder = PerExampleGrads::builder().leaf("w", rows(&w, 4, DType::F64));
            builder
                .leaf("b", rows(&wave(4, 8, 3), 3, DType::F64))
                .build()
                .unwrap()
        } else {
            g
        };
        other = reference.step(other, g).unwrap();
        assert_close(&values(&model), &values(&other), 1e-12);
    }
}

#[test]
fn clones_of_models_states_and_batches_are_not_overwritten() {
    for size in [1, 4, 5] {
        let mut optimizer = Optimizer::new(micro_adam_var(0.1)).unwrap();
        let model = two(size, 3, F32);
        let model = optimizer
            .step(model.clone(), grads(&model, 0, 0, 8))
            .unwrap();
        let before = values(&model);
        let batch = optimizer
            .accumulate(&model, grads(&model, 1, 0, 8))
            .unwrap();
        let mut second = optimizer.clone();
        let mut third = optimizer.clone();
        let first = optimizer
            .step_accumulated(model.clone(), batch.clone())
            .unwrap();
        assert_eq!(values(&model), before);
        let again = second.step_accumulated(model.clone(), batch).unwrap();
        assert_eq!(values(&first), values(&again));
        let g = grads(&model, 1, 0, 8);
        let direct = third.step(model.clone(), g.clone()).unwrap();
        assert_close(&values(&first), &values(&direct), 1e-4);
        // Gradients that are still held.
        let one = grads(&model, 2, 0, 1);
        let mut rule = Optimizer::new(chain((mean(), scale(-1.0)))).unwrap();
        let a = values(&rule.clone().step(model.clone(), one.clone()).unwrap());
        let b = values(&rule.step(model.clone(), one).unwrap());
        assert_eq!(a, b);
    }
}

#[test]
fn many_rows_and_few_columns_in_place() {
    for (examples, size) in [
        (1, 1),
        (1, 3),
        (3, 1),
        (700, 1),
        (1000, 3),
        (4097, 5),
        (5000, 64),
        (129, 257),
    ] {
        let run = |kernels: bool| {
            let optimizer = Optimizer::new(chain((
                clip_per_example(0.9),
                square(),
                mean(),
                ema(0.9),
                scale(-1.0),
            )));
            let mut optimizer = optimizer
                .unwrap()
                .with_settings(Settings::default().kernels(kernels));
            let mut model = two(size, 1, F64);
            for step in 0..3 {
                let w = rows(&wave(step, examples, size), size, DType::F64);
                let b = rows(&wave(step + 7, examples, 1), 1, DType::F64);
                let g = PerExampleGrads::builder()
                    .leaf("w", w)
                    .leaf("b", b)
                    .build()
                    .unwrap();
                model = optimizer.step(model, g).unwrap();
            }
            values(&model)
        };
        println!("{examples} x {size}");
        assert_close(&run(true), &run(false), 1e-12);
    }
}

#[test]
fn a_masked_state_follows_its_model_to_another_dtype() {
    let make = || {
        let inner = masked(scale_by_adam(), Leaves::matching("w"));
        Optimizer::new(chain((
            mean(),
            inner,
            scale(linear_schedule(-0.1, -0.5, 3)),
        )))
        .unwrap()
    };
    let mut optimizer = make();
    let model = two(4, 3, F32);
    let model = optimizer
        .step(model.clone(), grads(&model, 0, 0, 8))
        .unwrap();
    let wide = Two {
        w: leaf(&numbers(model.w.val()), DType::F64),
        b: leaf(&numbers(model.b.val()), DType::F64),
    };
    let g = grads(&wide, 1, 0, 8);
    let got = values(&optimizer.step(wide, g).unwrap());
    let want = whole(plain(make()), two(4, 3, F64), 2);
    assert_close(&got, &want, 1e-5);
}

/// The same in an ordinary step: the first stage of the frozen leaf reads nothing, since the parameters come after the norm.
#[test]
fn a_frozen_leaf_beside_a_norm_of_the_mean() {
    let make = || {
        let links = (
            freeze(Leaves::matching("b")),
            mean(),
            clip_by_global_norm(0.1),
            scale(-1.0),
        );
        Optimizer::new(chain(links)).unwrap()
    };
    kernels_or_not(make, || two(4, 3, F32));
}

#[test]
fn a_step_that_the_host_masks_in_parts() {
    let make = || {
        Optimizer::new(chain((
            conditionally_mask(sign(), step_ge(2)),
            mean(),
            scale(-1.0),
        )))
        .unwrap()
    };
    let got = parts(make(), two(4, 3, F32), 3, make);
    assert_close(&got, &whole(plain(make()), two(4, 3, F32), 3), 1e-5);
}
