//! Every executor gives what the reference gives: random chains, shapes, dtypes and layouts, and links from outside the crate.

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor};
use pergrad::prelude::*;
use pergrad::transforms::reference::Reference;
use pergrad::transforms::runner::{HostTensor, Runner, StepInput};
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec};
use pergrad::transforms::update_trace::UpdateTrace;
use pergrad::transforms::{AxisKind, Dtype, LeafInfo, ParamTree, PerExample, PerLeaf, Program};
use pergrad::{HostRunner, Optimizer, PerExampleGrads};
use proptest::prelude::*;

use crate::models::{assert_close, assert_close_above, numbers};

/// Links of every kind with arguments at which they are smooth enough to compare two roundings.
pub(crate) fn links() -> Vec<LinkSpec> {
    let link = LinkSpec::new;
    vec![
        link("abs"),
        link("add_scalar").with("value", 0.25),
        link("at_least").with("bound", -0.5),
        link("clip").with("max_delta", 0.75),
        link("scale").with("step_size", -1.5),
        link("square"),
        link("tanh"),
        link("zero_nans"),
        link("clip_per_example").with("max_norm", 1.0),
        link("clip_per_example")
            .with("max_norm", 1.0)
            .with("over", "leaves"),
        link("clip_per_example")
            .with("max_norm", 1.0)
            .with("over", "leaves_by_size"),
        link("normalize_per_example").with("eps", 0.1),
        link("mean"),
        link("sum"),
        link("median"),
        link("max"),
        link("min"),
        link("variance"),
        link("ema").with("decay", 0.9),
        link("ema").with("decay", 0.5).with("nesterov", true),
        link("trace").with("decay", 0.9),
        link("clip_by_global_norm").with("max_norm", 0.5),
        link("add_decayed_weights").with("weight_decay", 0.1),
        link("scale_by_adam").with("eps", 1e-3),
        link("adam").with("learning_rate", 0.1).with("eps", 1e-3),
        link("micro_adam")
            .with("learning_rate", 0.1)
            .with("eps", 1e-3),
    ]
}

/// The chain of those picked links that are allowed after the ones before and fit there, so that every draw is a chain.
pub(crate) fn fitting(
    picked: &[usize],
    links: &[LinkSpec],
    allowed: impl Fn(&ChainSpec, &LinkSpec) -> bool,
) -> ChainSpec {
    let catalogue = Catalogue::standard();
    let mut spec = ChainSpec::default();
    for &at in picked {
        let link = &links[at % links.len()];
        if !allowed(&spec, link) {
            continue;
        }
        spec.links.push(link.clone());
        if catalogue
            .build(&spec)
            .unwrap()
            .out(AxisKind::PerExample)
            .is_err()
        {
            spec.links.pop();
        }
    }
    spec
}

/// Numbers of many sizes, with zeros among them, exact in f32.
pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        1 => Just(0.0),
        8 => (-4096_i32..4096).prop_map(|n| f64::from(n) / 1024.0),
        1 => (-4096_i32..4096).prop_map(f64::from),
    ]
}

pub(crate) fn tree(sizes: &[usize], dtype: Dtype) -> ParamTree {
    let leaves = sizes.iter().enumerate().map(|(at, &size)| LeafInfo {
        path: format!("leaf{at}"),
        shape: vec![size],
        dtype,
    });
    ParamTree::new(leaves.collect()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_chains_equal_the_reference(
        picked in prop::collection::vec(0_usize..64, 1..7),
        examples in 1_usize..6,
        pool in prop::collection::vec(number(), 64),
        double in any::<bool>(),
    ) {
        let spec = fitting(&picked, &links(), |_, _| true);
        let chain = Catalogue::standard().build(&spec).unwrap();
        let program = chain.program_over(AxisKind::PerExample).unwrap();
        let sizes = [3, 1, 5];
        let dtype = if double { Dtype::F64 } else { Dtype::F32 };
        let mut reference = Reference::<f64>::new(&program, &tree(&sizes, Dtype::F64)).unwrap();
        let mut burn = HostRunner::new(&program, &tree(&sizes, dtype), &Device::default()).unwrap();
        // Six squares of 1.5 stay within f32; what overflow does is documented and tested elsewhere.
        let limit = if double { f64::INFINITY } else { 1.5 };
        let mut draw = pool.iter().map(|x| x.clamp(-limit, limit)).cycle();
        for _ in 0..3 {
            let mut input = StepInput::default();
            for (at, &size) in sizes.iter().enumerate() {
                let path = format!("leaf{at}");
                let g: Vec<f64> = draw.by_ref().take(examples * size).collect();
                input.grads.insert(path.clone(), HostTensor::new([examples, size], g));
                let p: Vec<f64> = draw.by_ref().take(size).collect();
                input.params.insert(path, HostTensor::new([size], p));
            }
            let want = reference.step(&input).unwrap();
            let got = burn.step(&input).unwrap();
            // An f32 chain of up to 6 links with powers, roots and norms loses up to about 1e-4 of the largest element.
            let tolerance = if double { 1e-9 } else { 3e-4 };
            for (path, want) in &want.updates {
                prop_assert_eq!(&got.updates[path].shape, &want.shape);
                // Numbers of the size of 1 may cancel, to 0 in one precision and to a rounding in the other.
                assert_close_above(&got.updates[path].values, &want.values, tolerance, 1.0);
            }
        }
    }
}

#[test]
fn shapes_at_the_edge_equal_the_reference() {
    let sizes = [0, 1, 5, 33, 257];
    let chains: Vec<Program> = vec![
        optimizer_program(&chain((clip_per_example(1.0), sum(), ema(0.9)))).unwrap(),
        optimizer_program(&chain((
            sign(),
            sum(),
            trace(0.9),
            clip_by_global_norm(1.0),
        )))
        .unwrap(),
        optimizer_program(&majority()).unwrap(),
    ];
    for program in &chains {
        for examples in [0, 1, 2, 3, 8] {
            let mut reference = Reference::<f64>::new(program, &tree(&sizes, Dtype::F64)).unwrap();
            let mut burn =
                HostRunner::new(program, &tree(&sizes, Dtype::F64), &Device::default()).unwrap();
            let mut input = StepInput::default();
            for (at, &size) in sizes.iter().enumerate() {
                let value = |n: usize| ((n * 37 + 11) % 23) as f64 - 11.0;
                let g: Vec<f64> = (0..examples * size).map(value).collect();
                input
                    .grads
                    .insert(format!("leaf{at}"), HostTensor::new([examples, size], g));
                input
                    .params
                    .insert(format!("leaf{at}"), HostTensor::zeros([size]));
            }
            let (want, got) = (reference.step(&input).unwrap(), burn.step(&input).unwrap());
            for (path, want) in &want.updates {
                println!("{path}, {examples} examples\n{program}");
                assert_close(&got.updates[path].values, &want.values, 1e-12);
            }
        }
    }
}

/// A model of one matrix.
#[derive(Module, Debug)]
struct Matrix {
    w: Param<Tensor<2>>,
}

#[test]
fn transposed_sliced_and_expanded_gradients_are_read_as_they_look() {
    let device = Device::default().autodiff();
    let model = Matrix {
        w: Param::from_tensor(Tensor::zeros([3, 2], &device)),
    };
    let base = Tensor::<3>::random([4, 5, 2], Distribution::Default, &Device::default());
    let views = [
        base.clone().swap_dims(0, 2).narrow(1, 1, 3).narrow(2, 0, 2),
        base.clone().slice([0..4, 1..4, 0..2]),
        base.narrow(0, 0, 1).narrow(1, 0, 3).expand([4, 3, 2]),
    ];
    for view in views {
        let copy = Tensor::<3>::from_data(view.to_data(), &Device::default());
        let updates = [view, copy].map(|g| {
            let grads = PerExampleGrads::builder().leaf("w", g).build().unwrap();
            let mut optimizer =
                Optimizer::new(chain((clip_per_example(0.3), square(), mean()))).unwrap();
            numbers(
                optimizer
                    .update(&model, &grads)
                    .unwrap()
                    .leaf::<2>("w")
                    .unwrap(),
            )
        });
        assert_eq!(updates[0], updates[1]);
    }
}

/// A link from outside the crate: it reads parameters, keeps state for each leaf, and emits a metric.
#[derive(Clone, Debug)]
struct TrustPerExample;

impl Transform<PerExample> for TrustPerExample {
    type Out = PerExample;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let norms = g.leaf_norm();
        cx.emit("norms", &norms);
        let peak = cx.state::<PerLeaf>("peak", 0.0, |old| {
            old.max(norms.reduce(pergrad::transforms::program::Reduction::Max))
        });
        g.div_or_zero(peak) * cx.params().leaf_norm()
    }
}

#[test]
fn a_link_from_outside_the_crate_runs_on_every_executor() {
    let trace = UpdateTrace::per_example(&chain((TrustPerExample, mean(), scale(-0.5))))
        .unwrap()
        .leaf("w", [2], [3.0, 4.0])
        .leaf("b", [1], [1.0])
        .step([("w", vec![3.0, 4.0, 0.0, 1.0]), ("b", vec![2.0, -4.0])])
        .step([("w", vec![0.0, 0.0, 0.0, 2.0]), ("b", vec![8.0, 0.0])]);
    let reference = trace.on_reference().unwrap();
    // Leaf w: peak 5, norm 5: mean ([.6 .8] + [0 .2]) 5 / 2 = [1.5 2.5], halved.
    assert!(reference.contains("[-0.75, -1.25]"), "{reference}");
    let mut f32_reference = Reference::<f32>::new(trace.program(), &trace.tree().unwrap()).unwrap();
    assert_eq!(trace.run(&mut f32_reference).unwrap(), reference);
    let mut flex =
        HostRunner::new(trace.program(), &trace.tree().unwrap(), &Device::default()).unwrap();
    assert_eq!(trace.run(&mut flex).unwrap(), reference);
}

#[test]
fn update_traces_are_the_same_on_every_executor() {
    let step = |n: i32| {
        let g = (0..6)
            .map(|k| f64::from((k * 5 + n * 3) % 7 - 3) / 2.0)
            .collect();
        [("w", g)]
    };
    let trace = |program: Program| {
        UpdateTrace::of_program(program)
            .leaf("w", [2], [1.0, -0.53])
            .step(step(0))
            .step(step(1))
            .step(step(2))
            .digits(4)
    };
    let programs = [
        optimizer_program(&sgd(0.1).momentum(0.9)),
        optimizer_program(&adam(0.1)),
        optimizer_program(&adamw(0.1)),
        optimizer_program(&lion(0.1)),
        optimizer_program(&sign_ema(0.1)),
        optimizer_program(&sign_sgd(0.1).beta(0.9)),
        optimizer_program(&micro_sign_sgd(0.1)),
        optimizer_program(&micro_adam(0.1)),
        optimizer_program(&micro_adam_var(0.1)),
        optimizer_program(&micro_adam_msq(0.1)),
        optimizer_program(&adam_interpolation(0.1, 1.0, 0.25)),
    ];
    for program in programs {
        let trace = trace(program.unwrap());
        let reference = trace.on_reference().unwrap();
        let tree = tree_like(&trace.tree().unwrap(), Dtype::F32);
        let mut flex = HostRunner::new(trace.program(), &tree, &Device::default()).unwrap();
        assert_eq!(trace.run(&mut flex).unwrap(), reference);
    }
}

fn tree_like(tree: &ParamTree, dtype: Dtype) -> ParamTree {
    let leaves = tree.leaves().iter().cloned();
    ParamTree::new(leaves.map(|leaf| LeafInfo { dtype, ..leaf }).collect()).unwrap()
}

/// Divides one leaf by the norm over all, and leaves the other as it is.
#[derive(Clone, Debug)]
struct NormalizeOne;

impl Transform<PerExample> for NormalizeOne {
    type Out = pergrad::transforms::Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Self::Out> {
        let g = g.mean();
        cx.choose(&Leaves::matching("leaf0"), &(&g / g.norm()), &g)
    }
}

#[test]
fn a_norm_over_all_leaves_counts_the_leaves_that_do_not_read_it() {
    let program = program(&NormalizeOne).unwrap();
    let mut input = StepInput::default();
    for (path, g) in [("leaf0", 3.0), ("leaf1", 4.0)] {
        input
            .grads
            .insert(path.into(), HostTensor::new([1, 1], [g]));
        input.params.insert(path.into(), HostTensor::zeros([1]));
    }
    let tree = tree(&[1, 1], Dtype::F64);
    let mut burn = HostRunner::new(&program, &tree, &Device::default()).unwrap();
    let updates = burn.step(&input).unwrap().updates;
    assert_close(&updates["leaf0"].values, &[0.6], 1e-12);
    assert_eq!(updates["leaf1"].values, [4.0]);
}

#[test]
fn the_variance_of_copies_is_zero() {
    let program = program(&variance(0)).unwrap();
    let mut input = StepInput::default();
    input
        .grads
        .insert("leaf0".into(), HostTensor::new([100, 1], [0.1; 100]));
    input.params.insert("leaf0".into(), HostTensor::zeros([1]));
    let tree = tree(&[1], Dtype::F32);
    let mut burn = HostRunner::new(&program, &tree, &Device::default()).unwrap();
    let variance = burn.step(&input).unwrap().updates["leaf0"].values[0];
    // The mean of the copies is off by a rounding; its square, 1e-16 or so, must not stay in the variance.
    assert!((0.0..1e-17).contains(&variance), "{variance:e}");
}

#[test]
fn parameters_that_do_not_fit_are_named_as_parameters() {
    let program = program(&mean()).unwrap();
    let mut input = StepInput::default();
    input
        .grads
        .insert("leaf0".into(), HostTensor::new([1, 1], [1.0]));
    let mut burn = HostRunner::new(&program, &tree(&[1], Dtype::F32), &Device::default()).unwrap();
    let missing = burn.step(&input).unwrap_err().to_string();
    let tree = tree(&[1], Dtype::F64);
    let mut reference = Reference::<f64>::new(&program, &tree).unwrap();
    assert_eq!(missing, reference.step(&input).unwrap_err().to_string());
}
