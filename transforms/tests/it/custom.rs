//! A link that is defined here and reads what a link can read: parameters, state, extras, B, step, norms.

use pergrad_transforms::extent::Leaf;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{HostTensor, StepInput};
use pergrad_transforms::spec::{Argument, Catalogue, ChainSpec, Entry, Family, Link};
use pergrad_transforms::{PerExample, Program};

use crate::model::{add_leaf, steps, w};
use crate::random::Random;
use crate::tolerance::{Tolerated, assert_close};

/// Preconditions each example by the root of the average square of earlier steps, pulls it towards the parameters, and
/// clips it to `bound` times its own loss.
#[derive(Clone, Debug)]
struct PreconditionedClip {
    bound: Hyper,
}

impl Transform<PerExample> for PreconditionedClip {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let bound = cx.hyper("bound", &self.bound, Domain::Bound);
        let slot = cx.slot::<Leaf>("square", 1.0);
        let preconditioned = &x / slot.before().sqrt() + cx.params() * 0.5;
        let next = slot.before() * 0.5 + x.square().mean() * 0.5;
        cx.set(slot, &next);
        let limit = cx.example_extra("loss") * bound;
        let norm = preconditioned.norm();
        let weight = norm.gt(&limit).select(limit.div_or_zero(&norm), 1.0);
        cx.emit("weight", &weight);
        preconditioned * weight
    }
}

fn inputs() -> Vec<StepInput> {
    let mut random = Random::new(99);
    let one = |random: &mut Random| {
        let mut input = StepInput::default();
        for (path, size) in [("u", 2), ("w", 3)] {
            add_leaf(&mut input, path, &[size], 4, random.normals(4 * size));
            input
                .params
                .insert(path.into(), HostTensor::new([size], random.normals(size)));
        }
        let losses = (0..4).map(|_| random.uniform()).collect();
        input.extras.insert("loss".into(), losses);
        input
    };
    (0..3).map(|_| one(&mut random)).collect()
}

/// The link and a mean, example by example; the updates of `w` at each step and the weights.
fn by_hand(inputs: &[StepInput], bound: f64) -> Vec<([f64; 3], Vec<f64>)> {
    let mut squares = [1.0_f64; 5];
    let mut steps = Vec::new();
    for input in inputs {
        let flat = |b: usize, p: usize| match p {
            0..2 => input.grads["u"].values[2 * b + p],
            _ => input.grads["w"].values[3 * b + p - 2],
        };
        let param = |p: usize| match p {
            0..2 => input.params["u"].values[p],
            _ => input.params["w"].values[p - 2],
        };
        let mut update = [0.0; 3];
        let mut weights = Vec::new();
        for b in 0..4 {
            let row: Vec<f64> = (0..5)
                .map(|p| flat(b, p) / squares[p].sqrt() + 0.5 * param(p))
                .collect();
            let norm = row.iter().fold(0.0_f64, |n, x| n.hypot(*x));
            let weight = (bound * input.extras["loss"][b] / norm).min(1.0);
            weights.push(weight);
            for p in 0..3 {
                update[p] += weight * row[p + 2] / 4.0;
            }
        }
        for (p, square) in squares.iter_mut().enumerate() {
            let mean = (0..4).map(|b| flat(b, p).powi(2)).sum::<f64>() / 4.0;
            *square = 0.5 * *square + 0.5 * mean;
        }
        steps.push((update, weights));
    }
    steps
}

#[track_caller]
fn assert_by_hand(program: &Program) {
    fn check<T: Tolerated>(program: &Program) {
        let inputs = inputs();
        let outputs = steps::<T>(program, &inputs);
        for (output, (update, weights)) in outputs.iter().zip(by_hand(&inputs, 2.0)) {
            assert_close::<T>(w(output), &update, "update");
            let got = &output.metrics["preconditioned_clip.weight"];
            assert_close::<T>(got, &weights, "weights");
            assert!(weights.iter().any(|w| *w < 1.0), "something is clipped");
        }
    }
    check::<f32>(program);
    check::<f64>(program);
}

#[test]
fn a_link_from_outside_runs_on_the_reference() {
    let chain = chain((PreconditionedClip { bound: 2.0.into() }, mean()));
    assert_by_hand(&optimizer_program(&chain).unwrap());
}

#[test]
fn a_link_from_outside_runs_in_a_specification() {
    let entry = Entry {
        name: "preconditioned_clip",
        family: Family::PerExample,
        summary: "",
        reference: "",
        arguments: const { &[Argument::required("bound")] },
        build: |args| {
            let bound = args.hyper("bound")?;
            Ok(Link::per_example(PreconditionedClip { bound }))
        },
    };
    let spec: ChainSpec =
        serde_json::from_str(r#"[{"link": "preconditioned_clip", "bound": 2}, "mean"]"#).unwrap();
    let chain = Catalogue::standard().with(entry).build(&spec).unwrap();
    assert_by_hand(&chain.optimizer_program().unwrap());
}

#[test]
fn a_link_from_outside_is_named_by_its_type() {
    let chain = chain((
        PreconditionedClip {
            bound: (-1.0).into(),
        },
        mean(),
    ));
    insta::assert_snapshot!(program(&chain).unwrap_err(), @"`preconditioned_clip.bound` must be a number that is not negative (infinity is allowed), but it is -1");
}

/// A link that keeps a value from one trace for the next.
#[derive(Debug, Default)]
struct Memo(std::cell::RefCell<Option<Value<Aggregated>>>);

impl Transform<PerExample> for Memo {
    type Out = Aggregated;

    fn trace(&self, x: Value<PerExample>, _cx: &mut Tracer) -> Value<Aggregated> {
        self.0.borrow_mut().get_or_insert_with(|| x.mean()).clone()
    }
}

#[test]
#[should_panic(expected = "a value of one program was used in another")]
fn a_value_kept_from_another_trace_is_refused() {
    let memo = Memo::default();
    assert!(program(&memo).is_ok());
    let _ = program(&chain((sign(), &memo)));
}

/// A link that asks for state and forgets it.
#[derive(Clone, Debug)]
struct Forgetful;

impl Transform<Aggregated> for Forgetful {
    type Out = Aggregated;

    fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
        x + cx.slot::<pergrad_transforms::Leaf>("past", 0.0).before()
    }
}

#[test]
fn state_that_is_never_set_is_refused() {
    insta::assert_snapshot!(program(&chain((mean(), Forgetful))).unwrap_err(), @"`forgetful` asks for the state `forgetful.past` but never sets it: call `set` with the next value, or use `state`");
}
