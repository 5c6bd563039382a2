//! A batch that comes in parts gives what the whole batch gives.

use burn::module::{Module, Param};
use burn::tensor::{DType, Shape, Tensor};
use pergrad::distributed::{BurnCollective, Threads};
use pergrad::prelude::*;
use pergrad::transforms::program::Reduction;
use pergrad::transforms::spec::{Catalogue, ChainSpec, DynChain};
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Accumulated, Error, Extras, Optimizer, PerExampleGrads, transforms};
use proptest::prelude::*;

use crate::executors::{fitting, links};
use crate::models::{assert_close, assert_close_above, device, fixed, numbers};

#[derive(Module, Debug)]
struct Model {
    w: Param<Tensor<2>>,
    b: Param<Tensor<1>>,
}

fn model(dtype: DType) -> Model {
    let w = fixed([3, 5], 1, dtype, &device()).inner().autodiff();
    let b = fixed([4], 2, dtype, &device()).inner().autodiff();
    Model {
        w: Param::from_tensor(w.require_grad()),
        b: Param::from_tensor(b.require_grad()),
    }
}

/// The gradients of some of 8 examples, of a step.
fn grads(step: usize, dtype: DType, examples: std::ops::Range<usize>) -> PerExampleGrads {
    let device = device().inner();
    let w = fixed::<3>([8, 3, 5], 10 + step, dtype, &device);
    let b = fixed::<2>([8, 4], 50 + step, dtype, &device);
    let builder = PerExampleGrads::builder()
        .leaf("w", w.slice([examples.clone()]))
        .leaf("b", b.slice([examples]));
    builder.build().unwrap()
}

fn values(model: &Model) -> Vec<f64> {
    let mut values = numbers(model.w.val());
    values.extend(numbers(model.b.val()));
    values
}

/// The parts of a batch of 8.
const CUTS: [&[usize]; 4] = [&[8], &[4, 4], &[2, 2, 2, 2], &[5, 1, 2]];

fn accumulated(
    optimizer: &mut Optimizer,
    model: &Model,
    step: usize,
    dtype: DType,
    cut: &[usize],
) -> Result<Accumulated, Error> {
    let mut at = 0;
    let mut batch: Option<Accumulated> = None;
    for size in cut {
        let part = optimizer.accumulate(model, grads(step, dtype, at..at + size))?;
        at += size;
        match &mut batch {
            Some(batch) => batch.merge(part)?,
            None => batch = Some(part),
        }
    }
    Ok(batch.expect("a part at least"))
}

fn in_parts(mut optimizer: Optimizer, steps: usize, dtype: DType, cut: &[usize]) -> Vec<f64> {
    let mut model = model(dtype);
    for step in 0..steps {
        let batch = accumulated(&mut optimizer, &model, step, dtype, cut).unwrap();
        assert_eq!(batch.examples(), 8);
        model = optimizer.step_accumulated(model, batch).unwrap();
    }
    assert_eq!(optimizer.steps_taken(), steps as u64);
    values(&model)
}

fn whole(mut optimizer: Optimizer, steps: usize, dtype: DType) -> Vec<f64> {
    let mut model = model(dtype);
    for step in 0..steps {
        model = optimizer.step(model, grads(step, dtype, 0..8)).unwrap();
    }
    values(&model)
}

fn chains() -> Vec<(&'static str, Optimizer)> {
    vec![
        ("reduced first", Optimizer::new(adam(0.1)).unwrap()),
        ("in the middle", Optimizer::new(micro_adam(0.1)).unwrap()),
        (
            "square, then mean",
            Optimizer::new(chain((square(), mean(), ema(0.9), scale(-0.1)))).unwrap(),
        ),
        ("sign of each", Optimizer::new(sign_ema(0.1)).unwrap()),
        (
            "clipped",
            Optimizer::new(chain((clip_per_example(0.7), adam(0.1)))).unwrap(),
        ),
        ("variance", Optimizer::new(micro_adam_var(0.1)).unwrap()),
        (
            "largest",
            Optimizer::new(chain((max(), scale(-0.1)))).unwrap(),
        ),
        (
            "norm of the mean",
            Optimizer::new(chain((mean(), clip_by_global_norm(0.1)))).unwrap(),
        ),
    ]
}

#[test]
fn case_33_parts_of_a_batch_give_what_the_batch_gives() {
    for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-13)] {
        for (name, optimizer) in chains() {
            let want = whole(optimizer.clone(), 3, dtype);
            for cut in CUTS {
                let got = in_parts(optimizer.clone(), 3, dtype, cut);
                println!("{name}, {cut:?}");
                assert_close(&got, &want, 10.0 * tolerance);
            }
        }
    }
}

#[test]
fn case_33_a_mean_of_ragged_parts_is_no_mean_of_means() {
    #[derive(Module, Debug)]
    struct One {
        w: Param<Tensor<1>>,
    }
    let zeros = Tensor::<1>::zeros([1], &device());
    let one = One {
        w: Param::from_tensor(zeros.require_grad()),
    };
    let mut optimizer = Optimizer::new(chain((mean(), scale(1.0)))).unwrap();
    let part = |x: &[f32]| {
        let g = Tensor::<1>::from_floats(x, &device().inner()).reshape([x.len(), 1]);
        PerExampleGrads::builder().leaf("w", g).build().unwrap()
    };
    let mut batch = optimizer
        .accumulate(&one, part(&[1.0, 2.0, 3.0, 4.0]))
        .unwrap();
    batch
        .merge(optimizer.accumulate(&one, part(&[5.0, 6.0])).unwrap())
        .unwrap();
    let one = optimizer.step_accumulated(one, batch).unwrap();
    assert_eq!(numbers(one.w.val()), [3.5]);
}

#[test]
fn an_order_or_a_grouping_of_parts_changes_nothing_but_roundings() {
    let mut optimizer = Optimizer::new(micro_adam_var(0.1)).unwrap();
    let dtype = DType::F64;
    let model = model(dtype);
    let mut part = |from, to| {
        optimizer
            .accumulate(&model, grads(0, dtype, from..to))
            .unwrap()
    };
    let mut left = part(0, 3);
    left.merge(part(3, 4)).unwrap();
    left.merge(part(4, 8)).unwrap();
    let mut right = part(3, 4);
    right.merge(part(4, 8)).unwrap();
    right.merge(part(0, 3)).unwrap();
    let left = optimizer
        .clone()
        .step_accumulated(model.clone(), left)
        .unwrap();
    let right = optimizer.clone().step_accumulated(model, right).unwrap();
    assert_close(&values(&left), &values(&right), 1e-13);
}

/// Every mergeable reduction, and metrics on both sides of them.
#[derive(Clone, Copy, Debug)]
struct Statistics;

impl Transform<PerExample> for Statistics {
    type Out = Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        cx.emit("norms", &g.sq_norm());
        cx.emit("sum", &g.sum());
        cx.emit("biased", &g.reduce(Reduction::Variance { ddof: 0 }));
        cx.emit("unbiased", &g.reduce(Reduction::Variance { ddof: 1 }));
        cx.emit("max", &g.reduce(Reduction::Max));
        cx.emit("min", &g.reduce(Reduction::Min));
        cx.emit("mean_norm", &g.sq_norm().mean());
        g.mean()
    }
}

#[test]
fn metrics_of_examples_are_joined_and_those_of_the_batch_are_of_the_batch() {
    let dtype = DType::F64;
    let model = model(dtype);
    let mut optimizer = Optimizer::new(Statistics).unwrap();
    let updates = optimizer.update(&model, &grads(0, dtype, 0..8)).unwrap();
    let want = optimizer.metrics().unwrap();
    drop(updates);
    for cut in CUTS {
        let mut optimizer = Optimizer::new(Statistics).unwrap();
        let batch = accumulated(&mut optimizer, &model, 0, dtype, cut).unwrap();
        optimizer.step_accumulated(model.clone(), batch).unwrap();
        let got = optimizer.metrics().unwrap();
        assert_eq!(
            got.keys().collect::<Vec<_>>(),
            want.keys().collect::<Vec<_>>()
        );
        for (name, got) in got {
            println!("{name}");
            assert_close(&got, &want[&name], 1e-13);
        }
    }
}

#[test]
fn what_needs_the_whole_batch_is_refused_by_name() {
    let refused = |optimizer: Result<Optimizer, Error>| {
        let mut optimizer = optimizer.unwrap();
        let model = model(DType::F32);
        let error = optimizer
            .accumulate(&model, grads(0, DType::F32, 0..4))
            .unwrap_err();
        assert!(
            matches!(error, Error::Chain(transforms::Error::Whole { .. })),
            "{error}"
        );
        error.to_string()
    };
    let error = refused(Optimizer::new(chain((median(), sgd(0.1)))));
    assert!(
        error.starts_with("`median` looks at all examples at once"),
        "{error}"
    );
    let error = refused(Optimizer::new(chain((trimmed_mean(1), sgd(0.1)))));
    assert!(
        error.starts_with("`trimmed_mean` looks at all examples at once"),
        "{error}"
    );

    /// What is left of each example beside the mean.
    #[derive(Clone, Debug)]
    struct Centered;
    impl Transform<PerExample> for Centered {
        type Out = PerExample;
        fn trace(&self, g: Value<PerExample>, _cx: &mut Tracer) -> Value<PerExample> {
            g.clone() - g.mean()
        }
    }
    let error = refused(Optimizer::new(chain((Centered, square(), sgd(0.1)))));
    assert!(
        error.starts_with("`centered` computes something of each example from the whole batch"),
        "{error}"
    );
}

#[test]
fn parts_that_do_not_belong_together_are_refused_and_nothing_is_lost() {
    let dtype = DType::F32;
    let mut adam_ = Optimizer::new(adam(0.1)).unwrap();
    let mut sign = Optimizer::new(sign_ema(0.1)).unwrap();
    let first = model(dtype);
    let part = grads(0, dtype, 0..4);
    let mut mine = adam_.accumulate(&first, part.clone()).unwrap();
    let others = sign.accumulate(&first, part.clone()).unwrap();
    let error = mine.merge(others.clone()).unwrap_err();
    assert_eq!(
        error,
        Error::OtherPart {
            what: "another chain"
        }
    );
    assert_eq!(mine.examples(), 4);

    let rejected = adam_.step_accumulated(first, others).unwrap_err();
    assert_eq!(rejected.grads.examples(), 4);
    let stepped = adam_
        .step_accumulated(rejected.model, mine.clone())
        .unwrap();
    let late = adam_.step_accumulated(stepped, mine).unwrap_err();
    assert!(
        late.to_string().contains("another step of the optimizer"),
        "{late}"
    );
    assert_eq!(adam_.steps_taken(), 1);
}

#[test]
fn a_batch_that_is_too_small_is_refused_when_it_is_complete() {
    let dtype = DType::F32;
    let mut optimizer = Optimizer::new(chain((variance(1), scale(1.0)))).unwrap();
    let model = model(dtype);
    // One example in each part is enough if there are two parts.
    let one = optimizer.accumulate(&model, grads(0, dtype, 0..1)).unwrap();
    let rejected = optimizer.step_accumulated(model, one).unwrap_err();
    assert!(
        rejected.to_string().contains("at least 2 examples"),
        "{rejected}"
    );
    let mut batch = rejected.grads;
    let part = optimizer
        .accumulate(&rejected.model, grads(0, dtype, 1..2))
        .unwrap();
    batch.merge(part).unwrap();
    optimizer.step_accumulated(rejected.model, batch).unwrap();
}

#[test]
fn an_empty_part_adds_nothing_to_a_sum() {
    let dtype = DType::F32;
    let mut optimizer = Optimizer::new(chain((mean(), scale(1.0)))).unwrap();
    let model = model(dtype);
    let shapes = [Shape::new([0, 3, 5]), Shape::new([0, 4])];
    let device = device().inner();
    let [w, b] = shapes;
    let empty = PerExampleGrads::builder()
        .leaf("w", Tensor::<3>::zeros(w, &device))
        .leaf("b", Tensor::<2>::zeros(b, &device))
        .build()
        .unwrap();
    let mut batch = optimizer.accumulate(&model, grads(0, dtype, 0..8)).unwrap();
    batch
        .merge(optimizer.accumulate(&model, empty).unwrap())
        .unwrap();
    let got = optimizer
        .clone()
        .step_accumulated(model.clone(), batch)
        .unwrap();
    let want = optimizer.step(model, grads(0, dtype, 0..8)).unwrap();
    assert_eq!(values(&got), values(&want));
}

#[test]
fn named_inputs_belong_to_the_part_that_reads_them() {
    /// Examples by their importance, and the mean by a number.
    #[derive(Clone, Debug)]
    struct Weighted;
    impl Transform<PerExample> for Weighted {
        type Out = Aggregated;
        fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
            let importance = cx.example_extra("importance");
            let loss = cx.extra("loss");
            (g * importance).mean() * loss
        }
    }
    let dtype = DType::F64;
    let weights = fixed::<1>([8], 3, dtype, &device().inner());
    let loss = Extras::new().number("loss", 0.5);
    let both = loss.clone().per_example("importance", weights.clone());
    let mut optimizer = Optimizer::new(Weighted).unwrap();
    let start = model(dtype);
    let want = optimizer
        .step_with(start.clone(), grads(0, dtype, 0..8), &both)
        .unwrap();

    let mut optimizer = Optimizer::new(Weighted).unwrap();
    let mut part = |from: usize, to: usize| {
        let extras =
            Extras::new().per_example("importance", weights.clone().narrow(0, from, to - from));
        optimizer.accumulate_with(&start, grads(0, dtype, from..to), &extras)
    };
    let mut batch = part(0, 5).unwrap();
    batch.merge(part(5, 8).unwrap()).unwrap();
    let missing = optimizer
        .step_accumulated(start.clone(), batch)
        .unwrap_err();
    assert!(missing.to_string().contains("loss"), "{missing}");
    let got = optimizer
        .step_accumulated_with(missing.model, missing.grads, &loss)
        .unwrap();
    assert_close(&values(&got), &values(&want), 1e-13);
}

#[test]
fn replicas_in_threads_take_the_step_of_the_whole_batch() {
    let dtype = DType::F64;
    for (name, optimizer) in chains() {
        println!("{name}");
        let want = whole(optimizer.clone(), 2, dtype);
        let replicas: Vec<Vec<f64>> = std::thread::scope(|scope| {
            let threads = Threads::of(3).into_iter().zip([0..5, 5..6, 6..8]);
            let threads = threads.map(|(collective, examples)| {
                let mut optimizer = optimizer.clone();
                scope.spawn(move || {
                    let mut model = model(dtype);
                    for step in 0..2 {
                        let part = grads(step, dtype, examples.clone());
                        let part = optimizer.accumulate(&model, part).unwrap();
                        let batch = part.all_reduce(&collective).unwrap();
                        assert_eq!(batch.examples(), 8);
                        model = optimizer.step_accumulated(model, batch).unwrap();
                    }
                    values(&model)
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        for replica in &replicas {
            assert_eq!(replica, &replicas[0], "replicas drift apart");
            assert_close(replica, &want, 1e-12);
        }
    }
}

/// What two replicas of seeds of their own come to.
fn noisy_replicas(seeds: [u64; 2]) -> Vec<Result<Vec<f64>, Error>> {
    std::thread::scope(|scope| {
        let threads = Threads::of(2)
            .into_iter()
            .zip([(0..5, seeds[0]), (5..8, seeds[1])]);
        let threads = threads.map(|(collective, (examples, seed))| {
            scope.spawn(move || {
                let noisy = chain((mean(), add_noise(0.1, 0.5, Seed::from(seed)), sgd(0.1)));
                let mut optimizer = Optimizer::new(noisy).unwrap();
                let mut model = model(DType::F64);
                for step in 0..2 {
                    let part = grads(step, DType::F64, examples.clone());
                    let part = optimizer.accumulate(&model, part).unwrap();
                    let batch = part.all_reduce(&collective)?;
                    model = optimizer.step_accumulated(model, batch).unwrap();
                }
                Ok(values(&model))
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn replicas_of_one_seed_have_one_noise_and_others_are_refused() {
    let same = noisy_replicas([7, 7]);
    assert!(same[0].is_ok() && same[0] == same[1]);
    let refused = Err(Error::OtherReplica { rank: 1 });
    assert_eq!(noisy_replicas([7, 8]), [refused.clone(), refused]);
}

#[test]
fn burns_collective_is_refused_where_there_is_none() {
    let device = device().inner();
    let error = BurnCollective::new(&[device.clone(), device.clone()], 2).unwrap_err();
    assert_eq!(
        error,
        Error::Rank {
            rank: 2,
            devices: 2
        }
    );
    if !format!("{device:?}").contains("Cuda") {
        let error = BurnCollective::new(&[device], 0).unwrap_err();
        assert!(
            error.to_string().contains("no collective operations"),
            "{error}"
        );
    }
}

fn dynamic(spec: &ChainSpec) -> DynChain {
    Catalogue::standard().build(spec).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A random chain in random parts either says that it needs the whole batch, or gives what the whole batch gives.
    #[test]
    fn random_chains_in_random_parts(
        picked in prop::collection::vec(0usize..1000, 1..6),
        first in 1usize..7,
    ) {
        let mut spec = fitting(&picked, &links(), |_, _| true);
        let ends = |spec: &ChainSpec| dynamic(spec).optimizer_program().is_ok();
        if !ends(&spec) {
            spec.links.push(transforms::spec::LinkSpec::new("mean"));
        }
        let optimizer = Optimizer::from_dyn(&dynamic(&spec)).unwrap();
        let dtype = DType::F64;
        let start = model(dtype);
        let cut = [first, 8 - first];
        match accumulated(&mut optimizer.clone(), &start, 0, dtype, &cut) {
            Err(Error::Chain(transforms::Error::Whole { .. })) => {}
            Err(Error::Chain(transforms::Error::TooFewExamples { .. })) => {}
            Err(error) => prop_assert!(false, "{error}"),
            Ok(_) => {
                let got = in_parts(optimizer.clone(), 2, dtype, &cut);
                let want = whole(optimizer, 2, dtype);
                assert_close_above(&got, &want, 1e-9, 1.0);
            }
        }
    }
}
