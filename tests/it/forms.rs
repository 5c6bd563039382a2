//! Leaves in factors give what they give in full, whatever the chain, and the facts about tokens.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use pergrad::grads::form::Form;
use pergrad::prelude::*;
use pergrad::transforms::spec::{Catalogue, LinkSpec};
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{NormMethod, Optimizer, PerExampleGrads, Settings};
use proptest::prelude::*;

use crate::executors::{fitting, links, number};
use crate::models::{assert_close, assert_close_above, device, numbers};

/// A weight, a table and a bias.
#[derive(Module, Debug)]
struct Model {
    weight: Param<Tensor<2>>,
    table: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

const WEIGHT: [usize; 2] = [5, 7];
const TABLE: [usize; 2] = [9, 3];
const BIAS: usize = 4;

fn model() -> Model {
    let device = device();
    Model {
        weight: Param::from_tensor(Tensor::ones(WEIGHT, (&device, DType::F64))),
        table: Param::from_tensor(Tensor::ones(TABLE, (&device, DType::F64))),
        bias: Param::from_tensor(Tensor::ones([BIAS], (&device, DType::F64))),
    }
}

fn tensor(shape: [usize; 3], numbers: &mut impl Iterator<Item = f64>) -> Tensor<3> {
    let values: Vec<f64> = numbers.take(shape.iter().product()).collect();
    Tensor::from_data(
        TensorData::new(values, shape),
        (&Device::default(), DType::F64),
    )
}

/// Gradients in every form, and the same in full.
fn forms(
    examples: usize,
    tokens: usize,
    draw: &mut impl Iterator<Item = f64>,
) -> [PerExampleGrads; 2] {
    let ids: Vec<i64> = (0..examples * tokens)
        .map(|at| ((at * 5 + at / 3) % 4) as i64) // with repeats inside an example
        .collect();
    let ids = TensorData::new(ids, [examples, tokens]);
    let ids = Tensor::<2, Int>::from_data(ids, &Device::default());
    let outer = Form::Outer {
        left: tensor([examples, tokens, WEIGHT[0]], draw),
        right: tensor([examples, tokens, WEIGHT[1]], draw),
    };
    let gather = Form::Gather {
        ids,
        d: tensor([examples, tokens, TABLE[1]], draw),
        rows: TABLE[0],
    };
    let shift = Form::Tokens(tensor([examples, tokens, BIAS], draw));
    let build = |map: fn(Form) -> Form| {
        PerExampleGrads::builder()
            .form("weight", WEIGHT, map(outer.clone()))
            .form("table", TABLE, map(gather.clone()))
            .form("bias", [BIAS], map(shift.clone()))
            .build()
            .unwrap()
    };
    [
        build(|form| form),
        build(|form| Form::Dense(form.into_dense())),
    ]
}

fn updates(optimizer: &mut Optimizer, grads: &PerExampleGrads) -> Vec<Vec<f64>> {
    let updates = optimizer.update(&model(), grads).unwrap();
    vec![
        numbers(updates.leaf::<2>("weight").unwrap()),
        numbers(updates.leaf::<2>("table").unwrap()),
        numbers(updates.leaf::<1>("bias").unwrap()),
    ]
}

/// The chain of those picked links that fit, closed by a mean if it needs one.
fn optimizer(picked: &[usize]) -> Optimizer {
    let mut links = links();
    links.push(LinkSpec::new("sign"));
    // The sign of what has cancelled is that of a rounding, and no two ways of computing agree on it: a sign stands first.
    let mut spec = fitting(picked, &links, |spec, link| {
        spec.links.is_empty() || link.link != "sign"
    });
    spec.links.push(LinkSpec::new("batch_mean"));
    Optimizer::from_dyn(&Catalogue::standard().build(&spec).unwrap()).unwrap()
}

/// Every way to take norms, and budgets for everything in full, for some rows of a leaf, and for none.
fn settings() -> impl Strategy<Value = Settings> {
    let methods = vec![
        NormMethod::Auto,
        NormMethod::Ghost,
        NormMethod::Simultaneous,
    ];
    let budgets = vec![usize::MAX, 3 * 8 * WEIGHT[1] * 2, 0];
    let all = (
        prop::sample::select(methods),
        prop::sample::select(budgets),
        any::<bool>(),
    );
    all.prop_map(|(method, budget, kernels)| {
        let settings = Settings::default().norm_method(method);
        settings.memory_budget(budget).kernels(kernels)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn factors_equal_full_gradients_for_random_chains(
        picked in prop::collection::vec(0_usize..64, 0..6),
        examples in 1_usize..5,
        tokens in 1_usize..4,
        settings in settings(),
        pool in prop::collection::vec(number(), 97),
    ) {
        let mut draw = pool.iter().map(|x| x.clamp(-4.0, 4.0)).cycle();
        let (mut in_factors, mut in_full) = (optimizer(&picked).with_settings(settings), optimizer(&picked));
        for _ in 0..2 {
            let [factors, full] = forms(examples, tokens, &mut draw);
            let (got, want) = (updates(&mut in_factors, &factors), updates(&mut in_full, &full));
            for (got, want) in got.iter().zip(&want) {
                assert_close_above(got, want, 1e-8, 1e-3);
            }
        }
    }
}

/// Emits every norm that a program can ask for.
#[derive(Clone, Debug)]
struct Norms;

impl Transform<PerExample> for Norms {
    type Out = Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        cx.emit("leaves", &g.leaf_sq_norm());
        cx.emit("all", &g.sq_norm());
        cx.emit("sums", &g.sum_elements());
        g.sum()
    }
}

#[test]
fn norms_of_factors_equal_norms_of_full_gradients_for_every_number_of_tokens() {
    // 2 T^2 <= L R up to T = 4, so both ways of computing the norm are taken; T = 6 is dense altogether.
    for tokens in [1, 2, 4, 5, 6] {
        for examples in [1, 3] {
            let mut draw = (0..).map(|k| f64::from((k * 37 + 11) % 23 - 11) / 8.0);
            let [factors, full] = forms(examples, tokens, &mut draw);
            let metrics = [factors, full].map(|grads| {
                let mut optimizer = Optimizer::new(Norms).unwrap();
                optimizer.update(&model(), &grads).unwrap();
                optimizer.metrics().unwrap()
            });
            for (name, want) in &metrics[1] {
                assert_close(&metrics[0][name], want, 1e-12);
            }
        }
    }
}

#[test]
fn ghost_norms_add_tokens_up_before_the_square() {
    // A = [[1, 0], [1, 1]], D = [[1, 2], [3, -1]]: weight 27, bias 17. Embedding: 0.16, 0.10, 0.10.
    let three = |values: &[f64], shape: [usize; 3]| tensor(shape, &mut values.iter().copied());
    let weight = Form::Outer {
        left: three(&[1.0, 0.0, 1.0, 1.0], [1, 2, 2]),
        right: three(&[1.0, 2.0, 3.0, -1.0], [1, 2, 2]),
    };
    let bias = Form::Tokens(three(&[1.0, 2.0, 3.0, -1.0], [1, 2, 2]));
    let square = |form: Form| {
        let g = form.into_dense();
        numbers((g.clone() * g).sum_dim(1))
    };
    assert_eq!((square(weight), square(bias)), (vec![27.0], vec![17.0]));

    let ids = TensorData::from([[1_i64, 1], [2, 0], [2, 0]]);
    let ids = Tensor::<2, Int>::from_data(ids, &Device::default());
    let d = [0.2, 0.2, 0.3, 0.1, 0.3, 0.1];
    let table = Form::Gather {
        ids,
        d: three(&d, [3, 2, 1]),
        rows: 3,
    };
    assert_close(&square(table), &[0.16, 0.10, 0.10], 1e-12);
}

#[test]
fn a_statistic_per_token_is_another_number_than_per_example() {
    let mut draw = (0..).map(|k| f64::from((k * 29 + 7) % 19 - 9) / 4.0);
    let [grads, _] = forms(3, 4, &mut draw);
    let second_moment = |grads: &PerExampleGrads| {
        let mut optimizer = Optimizer::new(chain((square(), mean()))).unwrap();
        updates(&mut optimizer, grads)
    };
    let sum = |x: &[Vec<f64>]| x.iter().flatten().sum::<f64>();
    let per_example = second_moment(&grads);
    let tokens = grads.clone().per_token().unwrap();
    assert_eq!(tokens.examples(), 12);
    assert!((sum(&per_example) - sum(&second_moment(&tokens))).abs() > 1.0);

    // The sum over tokens is the sum over examples.
    let total = |grads: &PerExampleGrads| {
        updates(&mut Optimizer::new(pergrad::prelude::sum()).unwrap(), grads)
    };
    for (x, y) in total(&grads).iter().zip(&total(&tokens)) {
        assert_close(x, y, 1e-12);
    }
    let [_, full] = forms(3, 4, &mut draw);
    let error = full.per_token().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the gradients of `weight` are held in full")
    );
}

/// The update and the metrics of a chain on one weight given as factors in f32, and on the same in full.
fn both(
    chain: impl Transform<PerExample, Out = Aggregated> + Clone,
    left: Tensor<3>,
    right: Tensor<3>,
) -> [Vec<f64>; 2] {
    let (rows, columns) = (left.dims()[2], right.dims()[2]);
    let layer = pergrad::nn::Scale {
        weight: Param::from_tensor(Tensor::zeros([rows * columns], &device())),
    };
    let form = Form::Outer { left, right };
    [form.clone(), Form::Dense(form.into_dense())].map(|form| {
        let grads = PerExampleGrads::builder().form("weight", [rows * columns], form);
        let mut optimizer = Optimizer::new(chain.clone()).unwrap();
        let updates = optimizer.update(&layer, &grads.build().unwrap()).unwrap();
        numbers(updates.leaf::<1>("weight").unwrap())
    })
}

#[test]
fn tokens_that_cancel_do_not_make_the_norm_negative() {
    // Two tokens with almost opposite gradients: in f32 the ghost sum would be rounding, below 0 for a third of the draws.
    for seed in 0..50 {
        let draw = |k: usize| ((k * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
        let left: Vec<f32> = (0..6).map(draw).collect();
        let right: Vec<f32> = (6..14).map(draw).collect();
        let opposite = right.iter().map(|x| -x * (1.0 + 4.0 * f32::EPSILON));
        let left = [left.clone(), left].concat();
        let right: Vec<f32> = right.iter().copied().chain(opposite).collect();
        let left = Tensor::<3>::from_data(TensorData::new(left, [1, 2, 6]), &Device::default());
        let right = Tensor::<3>::from_data(TensorData::new(right, [1, 2, 8]), &Device::default());
        let [factors, _] = both(
            chain((clip_per_example(1.0), mean())),
            left.clone(),
            right.clone(),
        );
        assert!(factors.iter().all(|x| x.abs() < 1e-5), "{factors:?}");
        // Exactly opposite tokens are an example of zeros, and stay one.
        let minus = right.clone().narrow(1, 0, 1).neg();
        let right = Tensor::cat(vec![right.narrow(1, 0, 1), minus], 1);
        let [factors, full] = both(chain((normalize_per_example(), mean())), left, right);
        assert_eq!(factors, full);
    }
}

#[test]
fn zero_times_infinity_shows_after_a_sign() {
    let left = Tensor::<3>::from_floats([[[0.0, 1.0, 2.0, 1.0]]], &Device::default());
    let right = Tensor::<3>::from_floats([[[1.0, f32::INFINITY, -1.0, 3.0]]], &Device::default());
    let [factors, full] = both(chain((sign(), mean())), left, right);
    for (x, y) in factors.iter().zip(&full) {
        assert!(x == y || x.is_nan(), "{factors:?} against {full:?}");
    }
    assert!(factors[1].is_nan() && full[1].is_nan());
}

#[test]
fn a_bad_token_stays_in_its_row_and_a_pair_of_one_id_is_nothing() {
    let ids = Tensor::<2, Int>::from_data(
        TensorData::from([[1_i64, 2, 1], [3, 3, 0]]),
        &Device::default(),
    );
    let d = [
        1.0,
        2.0,
        f64::NAN,
        4.0,
        5.0,
        6.0, // rows 1, 2, 1
        7.0,
        8.0,
        -7.0,
        -8.0,
        0.0,
        0.0, // row 3 twice, cancelling
    ];
    let d = tensor([2, 3, 2], &mut d.into_iter());
    let table = Form::Gather { ids, d, rows: 9 };
    for form in [table.clone(), Form::Dense(table.into_dense())] {
        let layer = pergrad::nn::Scale {
            weight: Param::from_tensor(Tensor::zeros([18], (&device(), DType::F64))),
        };
        let run = |chain: Optimizer| {
            let grads = PerExampleGrads::builder()
                .form("weight", [18], form.clone())
                .build()
                .unwrap();
            let mut optimizer = chain;
            numbers(
                optimizer
                    .update(&layer, &grads)
                    .unwrap()
                    .leaf::<1>("weight")
                    .unwrap(),
            )
        };
        let squares = run(Optimizer::new(chain((square(), pergrad::prelude::sum()))).unwrap());
        assert_eq!(squares[2..4], [36.0, 64.0]);
        assert!(squares[4].is_nan() && squares[5] == 16.0);
        let saved =
            run(Optimizer::new(chain((square(), zero_nans(), pergrad::prelude::sum()))).unwrap());
        assert_eq!(saved[2..6], [36.0, 64.0, 0.0, 16.0]);
        let unit = run(Optimizer::new(chain((
            zero_nans(),
            normalize_per_example(),
            pergrad::prelude::sum(),
        )))
        .unwrap());
        assert_eq!(unit[6..8], [0.0, 0.0]);
    }
}
