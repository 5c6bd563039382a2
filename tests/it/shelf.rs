//! Every optimizer of the shelf on burn: it minimises, in every dtype; it takes inputs it does not read; it may be wrapped; it may be saved
//! on the way; and zeros do it no harm.

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Tensor, TensorData};
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec};
use pergrad::transforms::{Aggregated, State};
use pergrad::{Extras, Optimizer};

use crate::models::{device, numbers};

/// A function of two numbers with its gradient.
type Function = fn([f64; 2]) -> (f64, [f64; 2]);

fn parabola([x, y]: [f64; 2]) -> (f64, [f64; 2]) {
    (0.5 * (x * x + 4.0 * y * y), [x, 4.0 * y])
}

fn rosenbrock([x, y]: [f64; 2]) -> (f64, [f64; 2]) {
    let (gap, slope) = (y - x * x, 1.0 - x);
    let value = slope * slope + 100.0 * gap * gap;
    (value, [-2.0 * slope - 400.0 * x * gap, 200.0 * gap])
}

/// An optimizer with the arguments it takes each function with.
#[derive(serde::Deserialize)]
struct Case {
    parabola: LinkSpec,
    rosenbrock: LinkSpec,
}

fn cases() -> Vec<Case> {
    let table = include_str!("../../transforms/tests/it/minimise/optimizers.json");
    serde_json::from_str(table).unwrap()
}

/// A matrix, so that those who treat matrices in their own way do.
#[derive(Module, Debug)]
struct Point {
    at: Param<Tensor<2>>,
}

impl Point {
    fn new(at: [f64; 2], dtype: DType) -> Self {
        let value = tensor(at, dtype).autodiff().require_grad();
        Self {
            at: Param::from_tensor(value),
        }
    }

    fn get(&self) -> [f64; 2] {
        numbers(self.at.val()).try_into().unwrap()
    }

    fn grads(&self, g: [f64; 2]) -> GradientsParams {
        let mut grads = GradientsParams::new();
        grads.register(self.at.id, tensor(g, self.at.val().dtype()));
        grads
    }
}

fn tensor(x: [f64; 2], dtype: DType) -> Tensor<2> {
    let data = TensorData::new(x.to_vec(), [1, 2]).convert_dtype(dtype);
    Tensor::from_data(data, (&device().inner(), dtype))
}

fn optimizer(link: &LinkSpec) -> Optimizer<Aggregated> {
    let links = vec![link.clone()];
    let chain = Catalogue::standard().build(&ChainSpec { links }).unwrap();
    Optimizer::aggregated_from_dyn(&chain).unwrap()
}

/// The inputs that some optimizers read, and one that none does.
fn extras(optimizer: &Optimizer<Aggregated>, value: f64) -> Extras {
    let extras = optimizer.program().extras().iter();
    extras.fold(
        Extras::new().number("nobody_reads_this", 7.0),
        |e, extra| e.number(extra.name.clone(), value),
    )
}

fn step(optimizer: &mut Optimizer<Aggregated>, point: Point, (value, g): (f64, [f64; 2])) -> Point {
    let extras = extras(optimizer, value);
    let updates = optimizer.update_with(&point, &point.grads(g), &extras);
    updates.unwrap().apply(point)
}

/// The smallest value on the way, relative to the first one; NaN if the point is lost.
fn least(link: &LinkSpec, f: Function, begin: [f64; 2], steps: usize, dtype: DType) -> f64 {
    let mut optimizer = optimizer(link);
    let mut point = Point::new(begin, dtype);
    let first = f(begin).0;
    let mut least = first;
    for _ in 0..steps {
        let value = f(point.get());
        least = least.min(value.0);
        if least <= 1e-3 * first {
            break;
        }
        point = step(&mut optimizer, point, value);
        assert_eq!(point.at.val().dtype(), dtype);
    }
    if point.get().iter().all(|x| x.is_finite()) {
        least / first
    } else {
        f64::NAN
    }
}

#[test]
fn every_optimizer_minimises_a_parabola_and_rosenbrocks_valley_in_f32_and_f64() {
    let mut bad = Vec::new();
    for case in cases() {
        for dtype in [DType::F32, DType::F64] {
            let low = least(&case.parabola, parabola, [1.0, -1.5], 400, dtype);
            let valley = least(&case.rosenbrock, rosenbrock, [-0.5, 1.5], 6000, dtype);
            if !(low <= 1e-3 && valley <= 1e-2) {
                let name = &case.parabola.link;
                bad.push(format!("{name} {dtype:?}: {low:.1e} {valley:.1e}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// A point of bf16 has three digits: it is enough to go down.
#[test]
fn every_optimizer_goes_downhill_in_bf16() {
    let mut bad = Vec::new();
    for case in cases() {
        let low = least(&case.parabola, parabola, [1.0, -1.5], 400, DType::BF16);
        // Steps below half of the last digit are lost: optimizers that begin with tiny ones stay where they are.
        if !(low < 1.0 || low == 1.0 && small_steps(&case.parabola.link)) {
            bad.push(format!("{}: {low:.1e}", case.parabola.link));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Whose first steps are far below a thousandth of the parameters.
fn small_steps(link: &str) -> bool {
    [
        "cocob",
        "prodigy",
        "dog",
        "dowg",
        "dadapt_adamw",
        "adadelta",
    ]
    .contains(&link)
}

/// Wrapped so that nothing changes, step for step.
#[test]
fn every_optimizer_may_be_masked_and_partitioned() {
    for case in cases() {
        let json = |link: &str, more: &str| {
            let inner = serde_json::to_string(&case.parabola).unwrap();
            let text = format!(r#"{{"link": "{link}", {more}}}"#).replace("INNER", &inner);
            serde_json::from_str::<LinkSpec>(&text).unwrap()
        };
        let wrapped = [
            json(
                "masked",
                r#""links": [INNER], "leaves": {"matching": "a?"}"#,
            ),
            json(
                "partition",
                r#""parts": [{"leaves": {"rank_at_least": 2}, "links": [INNER]}, {"leaves": "all", "links": "set_to_zero"}]"#,
            ),
        ];
        let plain = walk(&case.parabola, &mut |_| {});
        for link in wrapped {
            assert_eq!(walk(&link, &mut |_| {}), plain, "{}", case.parabola.link);
        }
    }
}

/// Twelve points on the way down the parabola.
fn walk(link: &LinkSpec, between: &mut dyn FnMut(&mut Walk)) -> Vec<[f64; 2]> {
    let mut walk = Walk {
        optimizer: optimizer(link),
        point: Point::new([1.0, -1.5], DType::F32),
        link: link.clone(),
        steps: 0,
    };
    let mut points = Vec::new();
    while walk.steps < 12 {
        let value = parabola(walk.point.get());
        walk.point = step(&mut walk.optimizer, walk.point, value);
        walk.steps += 1;
        points.push(walk.point.get());
        between(&mut walk);
    }
    points
}

struct Walk {
    optimizer: Optimizer<Aggregated>,
    point: Point,
    link: LinkSpec,
    steps: usize,
}

#[test]
fn every_optimizer_goes_on_from_where_it_was_saved_to_the_last_bit() {
    for case in cases() {
        let accumulated = serde_json::json!({
            "link": "accumulate", "links": [case.parabola], "every_k": 2,
        });
        let accumulated = serde_json::from_value(accumulated).unwrap();
        // In the middle of an accumulation, too.
        for link in [&case.parabola, &accumulated] {
            let whole = walk(link, &mut |_| {});
            let mut text = String::new();
            let saved = walk(link, &mut |walk| {
                if walk.steps == 5 {
                    let state = walk.optimizer.state(&walk.point).unwrap();
                    text = serde_json::to_string(&state).unwrap();
                    walk.optimizer = optimizer(&walk.link);
                    let state: State = serde_json::from_str(&text).unwrap();
                    walk.optimizer.load(&walk.point, &state).unwrap();
                }
            });
            assert_eq!(saved, whole, "{}", link.link);
        }
    }
}

#[test]
fn every_optimizer_under_an_accumulator_takes_the_steps_of_the_mean() {
    for case in cases() {
        let mut plain = optimizer(&case.parabola);
        let accumulated = serde_json::json!({
            "link": "accumulate", "links": [case.parabola], "every_k": 2,
        });
        let mut accumulated = optimizer(&serde_json::from_value(accumulated).unwrap());
        let mut points = [0, 1].map(|_| Point::new([1.0, -1.5], DType::F64));
        for _ in 0..4 {
            let (value, [gx, gy]) = parabola(points[0].get());
            let [a, b] = points;
            let a = step(&mut plain, a, (value, [gx, gy]));
            let before = b.get();
            let b = step(&mut accumulated, b, (value, [gx + 1.0, gy - 3.0]));
            assert_eq!(b.get(), before, "{}: half of a batch", case.parabola.link);
            let b = step(&mut accumulated, b, (value, [gx - 1.0, gy + 3.0]));
            for (x, y) in a.get().iter().zip(b.get()) {
                let close = (x - y).abs() <= 1e-9 * x.abs().max(1.0);
                assert!(close, "{}: {x} {y}", case.parabola.link);
            }
            points = [a, b];
        }
    }
}

#[test]
fn every_optimizer_keeps_finite_where_all_gradients_are_zeros() {
    for case in cases() {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let mut optimizer = optimizer(&case.parabola);
            let mut point = Point::new([1.0, -1.5], dtype);
            for _ in 0..3 {
                point = step(&mut optimizer, point, (0.0, [0.0, 0.0]));
                let finite = point.get().iter().all(|x| x.is_finite());
                assert!(finite, "{} {dtype:?}", case.parabola.link);
                assert_eq!(point.at.val().dtype(), dtype);
            }
        }
    }
}
