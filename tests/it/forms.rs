//! Leaves in factors give what they give in full, whatever the chain, and the facts about tokens.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use pergrad::grads::form::Form;
use pergrad::prelude::*;
use pergrad::transforms::AxisKind;
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec};
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Optimizer, PerExampleGrads};
use proptest::prelude::*;

use crate::executors::{links, number};
use crate::models::{assert_close, device, numbers};

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

/// The chain with those of the picked links that fit, closed by a mean if it needs one.
fn optimizer(picked: &[usize]) -> Optimizer {
    let (catalogue, mut links) = (Catalogue::standard(), links());
    links.push(LinkSpec::new("sign"));
    let mut spec = ChainSpec::default();
    for &at in picked {
        spec.links.push(links[at % links.len()].clone());
        if catalogue
            .build(&spec)
            .unwrap()
            .out(AxisKind::PerExample)
            .is_err()
        {
            spec.links.pop();
        }
    }
    spec.links.push(LinkSpec::new("batch_mean"));
    Optimizer::from_dyn(&catalogue.build(&spec).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn factors_equal_full_gradients_for_random_chains(
        picked in prop::collection::vec(0_usize..64, 0..6),
        examples in 1_usize..5,
        tokens in 1_usize..4,
        pool in prop::collection::vec(number(), 97),
    ) {
        let mut draw = pool.iter().map(|x| x.clamp(-4.0, 4.0)).cycle();
        let (mut in_factors, mut in_full) = (optimizer(&picked), optimizer(&picked));
        for _ in 0..2 {
            let [factors, full] = forms(examples, tokens, &mut draw);
            let (got, want) = (updates(&mut in_factors, &factors), updates(&mut in_full, &full));
            for (got, want) in got.iter().zip(&want) {
                assert_close(got, want, 1e-8);
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
