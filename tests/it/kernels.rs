//! One pass over a leaf equals column by column in f64, for awkward shapes, layouts and numbers, on any number of threads.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Shape, Tensor, TensorData};
use pergrad::prelude::*;
use pergrad::transforms::program::Reduction;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Optimizer, PerExampleGrads, Settings};

use crate::models::{assert_close, device, numbers};

#[derive(Module, Debug)]
struct Leaf {
    w: Param<Tensor<1>>,
}

fn leaf(size: usize, dtype: DType) -> Leaf {
    let zeros = Tensor::<1>::zeros(Shape::new([size]), (&device(), dtype));
    Leaf {
        w: Param::from_tensor(zeros.require_grad()),
    }
}

/// Numbers of the host, `[B, P]`, row by row.
#[derive(Clone)]
struct Rows {
    values: Vec<f64>,
    examples: usize,
    size: usize,
}

impl Rows {
    /// Quarters from -2 to 2: sums of them are exact, and so are their squares.
    fn exact(examples: usize, size: usize) -> Self {
        let value = |at: usize| ((at * 7919 + at / 13 * 31) % 17) as f64 / 4.0 - 2.0;
        Self {
            values: (0..examples * size).map(value).collect(),
            examples,
            size,
        }
    }

    fn rounded(examples: usize, size: usize) -> Self {
        let value = |at: usize| ((at * 7919 + 17) % 20011) as f32 / 7001.5 - 1.1;
        Self {
            values: (0..examples * size)
                .map(|at| f64::from(value(at)))
                .collect(),
            examples,
            size,
        }
    }

    fn tensor(&self, dtype: DType) -> Tensor<2> {
        let data = TensorData::new(self.values.clone(), [self.examples, self.size]);
        Tensor::from_data(data.convert_dtype(dtype), (&Device::default(), dtype))
    }

    /// One number for each column, from all of its numbers.
    fn columns(&self, f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let column = |at: usize| {
            let column = self.values.iter().skip(at).step_by(self.size);
            column.copied().collect::<Vec<_>>()
        };
        (0..self.size).map(|at| f(&column(at))).collect()
    }

    /// One number for each example.
    fn examples(&self, f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        self.values.chunks(self.size).map(f).collect()
    }
}

#[allow(clippy::cast_precision_loss)]
fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Every reduction at once.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    sorted: bool,
}

impl Transform<PerExample> for Statistics {
    type Out = Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        cx.emit("sum", &g.sum());
        cx.emit("square", &g.square().mean());
        cx.emit("sign", &g.sign().mean());
        cx.emit("abs", &g.abs().mean());
        cx.emit("variance", &g.reduce(Reduction::Variance { ddof: 0 }));
        cx.emit("max", &g.reduce(Reduction::Max));
        cx.emit("min", &g.reduce(Reduction::Min));
        cx.emit("norms", &g.sq_norm());
        cx.emit("largest", &g.abs().max_element());
        if self.sorted {
            cx.emit("median", &g.reduce(Reduction::Median));
        }
        g.mean()
    }
}

fn statistics(g: Tensor<2>, sorted: bool) -> std::collections::BTreeMap<String, Vec<f64>> {
    let model = leaf(g.dims()[1], g.dtype());
    let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
    let mut optimizer = Optimizer::new(Statistics { sorted }).unwrap();
    let updates = optimizer.update(&model, &grads).unwrap();
    let mut metrics = optimizer.metrics().unwrap();
    metrics.insert("mean".into(), numbers(updates.leaf::<1>("w").unwrap()));
    let name = |name: &str| name.trim_start_matches("statistics.").to_owned();
    metrics.into_iter().map(|(k, v)| (name(&k), v)).collect()
}

fn check(rows: &Rows, g: Tensor<2>, sorted: bool, tolerance: f64) {
    let got = statistics(g, sorted);
    let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
    let spread = |x: &[f64]| {
        let middle = mean(x);
        mean(&x.iter().map(|x| (x - middle).powi(2)).collect::<Vec<_>>())
    };
    let map =
        |f: fn(f64) -> f64| move |x: &[f64]| mean(&x.iter().map(|&x| f(x)).collect::<Vec<_>>());
    assert_close(&got["mean"], &rows.columns(mean), tolerance);
    assert_close(&got["sum"], &rows.columns(|x| x.iter().sum()), tolerance);
    assert_close(&got["square"], &rows.columns(map(|x| x * x)), tolerance);
    assert_close(&got["sign"], &rows.columns(map(sign)), tolerance);
    assert_close(&got["abs"], &rows.columns(map(f64::abs)), tolerance);
    assert_close(&got["variance"], &rows.columns(spread), tolerance);
    let largest = |x: &[f64]| x.iter().copied().fold(f64::MIN, f64::max);
    let smallest = |x: &[f64]| x.iter().copied().fold(f64::MAX, f64::min);
    assert_close(&got["max"], &rows.columns(largest), 1e-7);
    assert_close(&got["min"], &rows.columns(smallest), 1e-7);
    let squares = |x: &[f64]| x.iter().map(|x| x * x).sum();
    assert_close(&got["norms"], &rows.examples(squares), tolerance);
    let farthest = |x: &[f64]| x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert_close(&got["largest"], &rows.examples(farthest), 1e-7);
    if sorted {
        let median = |x: &[f64]| {
            let mut x = x.to_vec();
            x.sort_by(f64::total_cmp);
            let half = x.len() / 2;
            if x.len() % 2 == 1 {
                x[half]
            } else {
                f64::midpoint(x[half - 1], x[half])
            }
        };
        assert_close(&got["median"], &rows.columns(median), 1e-7);
    }
}

const SHAPES: [[usize; 2]; 10] = [
    [257, 257],
    [33, 64],
    [1, 1],
    [1, 5000],
    [70, 1],
    [2, 4097],
    [5, 128],
    [64, 2049],
    [3, 70_001],
    [5000, 3],
];

#[test]
fn case_25_awkward_shapes_in_f32_and_f64() {
    for [examples, size] in SHAPES {
        let rows = Rows::rounded(examples, size);
        check(&rows, rows.tensor(DType::F32), true, 1e-5);
        check(&rows, rows.tensor(DType::F64), true, 1e-12);
    }
}

#[test]
fn case_25_long_and_wide() {
    for [examples, size] in [[65_537, 64], [64, 65_537]] {
        let rows = Rows::rounded(examples, size);
        check(&rows, rows.tensor(DType::F32), false, 1e-5);
    }
}

#[test]
fn case_25_sums_of_quarters_are_exact_in_f32() {
    for [examples, size] in [[257, 257], [33, 64], [4096, 5], [3, 70_001]] {
        let rows = Rows::exact(examples, size);
        let got = statistics(rows.tensor(DType::F32), false);
        assert_eq!(got["sum"], rows.columns(|x| x.iter().sum()));
        let squares = |x: &[f64]| x.iter().map(|x| x * x).sum();
        assert_eq!(got["norms"], rows.examples(squares));
    }
}

#[test]
fn case_25_views_of_memory() {
    let rows = Rows::rounded(40, 300);
    let whole = rows.tensor(DType::F32);
    let turned = Rows {
        values: (0..300 * 40)
            .map(|at| rows.values[at % 40 * 300 + at / 40])
            .collect(),
        examples: 300,
        size: 40,
    };
    check(&turned, whole.clone().transpose(), true, 1e-5);
    let part = Rows {
        values: (5..25)
            .flat_map(|row| rows.values[row * 300 + 17..row * 300 + 217].to_vec())
            .collect(),
        examples: 20,
        size: 200,
    };
    check(&part, whole.clone().slice([5..25, 17..217]), true, 1e-5);
    let repeated = Rows {
        values: rows.values[..300].repeat(7),
        examples: 7,
        size: 300,
    };
    check(
        &repeated,
        whole.clone().narrow(0, 0, 1).expand([7, 300]),
        true,
        1e-5,
    );
    let one_number = Rows {
        values: vec![rows.values[0]; 12],
        examples: 4,
        size: 3,
    };
    let one = whole.slice([0..1, 0..1]).expand([4, 3]);
    check(&one_number, one, true, 1e-5);
}

#[test]
fn bad_numbers_show_where_they_are() {
    let mut rows = Rows::rounded(70, 200);
    for (at, bad) in [
        (3, f64::NAN),
        (203, f64::INFINITY),
        (60 * 200 + 150, f64::NAN),
    ] {
        rows.values[at] = bad;
    }
    let got = statistics(rows.tensor(DType::F32), true);
    let columns: Vec<usize> = vec![3, 150];
    for name in [
        "mean", "sum", "square", "sign", "abs", "variance", "max", "min", "median",
    ] {
        for (at, x) in got[name].iter().enumerate() {
            assert_eq!(x.is_nan(), columns.contains(&at), "{name} at {at}: {x}");
        }
    }
    for name in ["norms", "largest"] {
        for (at, x) in got[name].iter().enumerate() {
            assert_eq!(x.is_nan(), [0, 60].contains(&at), "{name} of {at}: {x}");
        }
        assert_eq!(got[name][1], f64::INFINITY);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for [examples, size] in [[64, 30_001], [9000, 7]] {
        let rows = Rows::rounded(examples, size);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap()
                .install(|| statistics(rows.tensor(DType::F32), false))
        };
        assert_eq!(run(1), run(3));
    }
}

#[test]
fn a_state_is_overwritten_only_where_nobody_else_holds_it() {
    // A clone of an optimizer goes on from its own state, whatever the other one does in between.
    let size = 3000;
    let grads = |at: usize| {
        let g = Rows::rounded(4, size + at)
            .tensor(DType::F32)
            .narrow(1, at, size);
        PerExampleGrads::builder().leaf("w", g).build().unwrap()
    };
    let model = leaf(size, DType::F32);
    let step = |optimizer: &mut Optimizer, at: usize| {
        numbers(
            optimizer
                .update(&model, &grads(at))
                .unwrap()
                .leaf::<1>("w")
                .unwrap(),
        )
    };
    let mut straight = Optimizer::new(micro_adam(0.1)).unwrap();
    step(&mut straight, 0);
    let mut clone = straight.clone();
    let saved = straight.state(&model).unwrap();
    let (second, third) = (step(&mut straight, 1), step(&mut straight, 2));
    assert_eq!(step(&mut clone, 1), second);
    assert_eq!(step(&mut clone, 2), third);
    let mut loaded = Optimizer::new(micro_adam(0.1)).unwrap();
    loaded.load(&model, &saved).unwrap();
    assert_eq!(step(&mut loaded, 1), second);
    assert_eq!(step(&mut loaded, 2), third);
    // Gradients and parameters are read only.
    let g = grads(0);
    let before = numbers(g.leaf::<2>("w").unwrap());
    straight.update(&model, &g).unwrap();
    assert_eq!(numbers(g.leaf::<2>("w").unwrap()), before);
    assert!(numbers(model.w.val().inner()).iter().all(|x| *x == 0.0));
}

#[test]
fn case_45_fused_equals_unfused() {
    // Whole optimizers: statistics, moments, bias correction, learning rate and parameters, in one pass and in many.
    let rows = Rows::rounded(9, 700);
    let train = |optimizer: Optimizer, kernels: bool| {
        let mut optimizer = optimizer.with_settings(Settings::default().kernels(kernels));
        let mut model = leaf(700, DType::F32);
        for step in 0..4 {
            let mut rows = rows.clone();
            rows.values.rotate_left(step * 31);
            let grads = PerExampleGrads::builder().leaf("w", rows.tensor(DType::F32));
            model = optimizer.step(model, grads.build().unwrap()).unwrap();
        }
        assert_eq!(optimizer.passes() > 0, kernels);
        numbers(model.w.val().inner())
    };
    for chain in [
        Optimizer::new(adam(0.1)),
        Optimizer::new(adamw(0.1)),
        Optimizer::new(micro_adam(0.1)),
        Optimizer::new(micro_adam_var(0.1)),
        Optimizer::new(micro_adam_msq(0.1)),
        Optimizer::new(sign_ema(0.1)),
        Optimizer::new(lion(0.1)),
        Optimizer::new(chain((clip_per_example(1.0), median(), tanh(), sgd(0.1)))),
        Optimizer::new(chain((
            trimmed_mean(2),
            clip_by_global_norm(0.1),
            adam(0.1),
        ))),
    ] {
        let chain = chain.unwrap();
        assert_close(&train(chain.clone(), true), &train(chain, false), 1e-5);
    }
}
