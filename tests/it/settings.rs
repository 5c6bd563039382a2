//! Choices of time against memory do not change what is computed; and what stays in factors although each element has a weight.

use burn::module::{Module, Param};
use burn::tensor::{DType, Int, Tensor, TensorData};
use pergrad::grads::form::Form;
use pergrad::prelude::*;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{NormMethod, Optimizer, PerExampleGrads, Settings};

use crate::models::{assert_close, device, fixed, numbers};

#[derive(Module, Debug)]
struct Model {
    weight: Param<Tensor<2>>,
    table: Param<Tensor<2>>,
}

const WEIGHT: [usize; 2] = [6, 9];
const TABLE: [usize; 2] = [8, 3];

fn model() -> Model {
    let parameter = |shape, seed| fixed(shape, seed, DType::F64, &device()).require_grad();
    Model {
        weight: Param::from_tensor(parameter(WEIGHT, 1)),
        table: Param::from_tensor(parameter(TABLE, 2)),
    }
}

/// In factors, and the same in full.
fn grads(examples: usize, tokens: usize) -> [PerExampleGrads; 2] {
    let device = burn::tensor::Device::default();
    let factor = |width, seed| fixed([examples, tokens, width], seed, DType::F64, &device);
    let ids: Vec<i64> = (0..examples * tokens)
        .map(|at| ((at * 3 + at / 2) % 8) as i64)
        .collect();
    let ids = TensorData::new(ids, [examples, tokens]);
    let weight = Form::Outer {
        left: factor(WEIGHT[0], 3),
        right: factor(WEIGHT[1], 4),
    };
    let table = Form::Gather {
        ids: Tensor::<2, Int>::from_data(ids, &device),
        d: factor(TABLE[1], 5),
        rows: TABLE[0],
    };
    let build = |map: fn(Form) -> Form| {
        PerExampleGrads::builder()
            .form("weight", WEIGHT, map(weight.clone()))
            .form("table", TABLE, map(table.clone()))
            .build()
            .unwrap()
    };
    [
        build(|form| form),
        build(|form| Form::Dense(form.into_dense())),
    ]
}

/// Everything that weighs the elements of each example alike, and what can be asked of the product.
#[derive(Clone, Debug)]
struct Weighted;

impl Transform<PerExample> for Weighted {
    type Out = Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        let direction = cx.params();
        let scaled = &g * &direction;
        let divided = &g / (direction.abs() + 1.0);
        cx.emit("dots", &scaled.sum_elements());
        cx.emit("norms", &divided.leaf_sq_norm());
        cx.emit("twice", &(&scaled * &direction).sum_elements());
        cx.emit("largest", &divided.abs().max_element());
        cx.emit("gram", &g.leaf_gram());
        cx.emit("weighted gram", &scaled.leaf_gram());
        let alpha = g.sq_norm();
        cx.emit("times", &g.gram().times(&alpha));
        cx.emit("the same", &g.dot(&(&g * &alpha).sum()));
        let clipped = &divided * (scaled.sum_elements().sum_leaves() + 2.0);
        clipped.mean()
            + scaled.abs().mean()
            + divided.sign().mean()
            + divided.square().mean()
            + divided
                .tanh()
                .reduce(pergrad::transforms::program::Reduction::Median)
    }
}

#[test]
fn elements_weighted_alike_in_all_examples_stay_exact_in_factors_and_in_tiles() {
    for tokens in [1, 2, 4, 7] {
        let [factors, full] = grads(5, tokens);
        let model = model();
        let mut reference = Optimizer::new(Weighted).unwrap();
        let want = reference.update(&model, &full).unwrap();
        let want_metrics = reference.metrics().unwrap();
        assert_close(
            &want_metrics["weighted.times"],
            &want_metrics["weighted.the same"],
            1e-12,
        );
        for method in [
            NormMethod::Auto,
            NormMethod::Ghost,
            NormMethod::Simultaneous,
        ] {
            for budget in [0, 5 * 8 * 9 * 4, usize::MAX] {
                let settings = Settings::default()
                    .norm_method(method)
                    .memory_budget(budget);
                let mut optimizer = Optimizer::new(Weighted).unwrap().with_settings(settings);
                let got = optimizer.update(&model, &factors).unwrap();
                for leaf in ["weight", "table"] {
                    let want = numbers(want.leaf::<2>(leaf).unwrap());
                    assert_close(&numbers(got.leaf::<2>(leaf).unwrap()), &want, 1e-12);
                }
                for (name, values) in optimizer.metrics().unwrap() {
                    assert_close(&values, &want_metrics[&name], 1e-12);
                }
            }
        }
    }
}

#[test]
fn an_example_left_out_stays_out_when_a_weight_is_infinite() {
    #[derive(Clone, Debug)]
    struct LeaveOut;
    impl Transform<PerExample> for LeaveOut {
        type Out = Aggregated;
        fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
            let scaled = &g * cx.params();
            let small = g.sq_norm().lt(1e6);
            let kept = small.select(&scaled, cx.constant(0.0));
            cx.emit("sums", &kept.sum_elements());
            kept.sum()
        }
    }
    let [factors, full] = grads(3, 2);
    let mut values = numbers(model().weight.val().inner());
    values[4] = f64::INFINITY;
    let weight = Tensor::<2>::from_data(TensorData::new(values, WEIGHT), (&device(), DType::F64));
    let model = Model {
        weight: Param::from_tensor(weight.require_grad()),
        ..model()
    };
    let run = |grads: &PerExampleGrads| {
        let mut optimizer = Optimizer::new(LeaveOut).unwrap();
        let updates = optimizer.update(&model, grads).unwrap();
        (
            numbers(updates.leaf::<2>("weight").unwrap()),
            optimizer.metrics().unwrap()["leave_out.sums"].clone(),
        )
    };
    let (got, want) = (run(&factors), run(&full));
    let same = |x: &[f64], y: &[f64]| {
        for (x, y) in x.iter().zip(y) {
            let both_bad = !x.is_finite() && !y.is_finite();
            assert!(both_bad || (x - y).abs() < 1e-9, "{x} {y}");
        }
    };
    same(&got.0, &want.0);
    same(&got.1, &want.1);
}
