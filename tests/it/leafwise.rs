//! Chains in the place of burn's optimizers.

use burn::module::{Param, ParamGroup};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer, OptimizerRecord};
use burn::tensor::{DType, Tensor};
use pergrad::prelude::*;
use pergrad::transforms::spec::{Catalogue, ChainSpec};
use pergrad::{Leafwise, Optimizer};

use crate::models::{Mlp, assert_close, cast, device, fixed, numbers};

fn model() -> Mlp {
    let mut model = Mlp::new(3, 4, 2, &device());
    let weight = |shape, seed| fixed(shape, seed, DType::F32, &device()).require_grad();
    model.first.weight = Param::from_tensor(weight([3, 4], 1));
    model.second.weight = Param::from_tensor(weight([4, 2], 2));
    model.first.bias = Some(Param::from_tensor(
        Tensor::zeros([4], &device()).require_grad(),
    ));
    model.second.bias = Some(Param::from_tensor(
        Tensor::zeros([2], &device()).require_grad(),
    ));
    model
}

fn grads(model: &Mlp, step: usize) -> GradientsParams {
    let dtype = model.first.weight.val().dtype();
    let x = fixed([6, 3], 10 + step, dtype, &device());
    GradientsParams::from_grads(model.losses(x).mean().backward(), model)
}

fn flat(model: &Mlp) -> Vec<f64> {
    let bias = |layer: &pergrad::nn::Linear| numbers(layer.bias.as_ref().unwrap().val());
    let mut all = numbers(model.first.weight.val());
    all.extend(bias(&model.first));
    all.extend(numbers(model.second.weight.val()));
    all.extend(bias(&model.second));
    all
}

fn train(mut optimizer: ModuleOptimizer, mut model: Mlp, steps: std::ops::Range<usize>) -> Mlp {
    for step in steps {
        let grads = grads(&model, step);
        model = optimizer.step(0.05, model, grads);
    }
    model
}

#[test]
fn a_chain_in_burns_trait_takes_the_steps_of_the_whole_optimizer() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let begin = cast(model(), dtype);
        let chain = || chain((clip(0.2), adamw(0.05).weight_decay(0.1)));
        let inside = train(Leafwise::new(chain()).unwrap().into(), begin.clone(), 0..5);
        let mut optimizer = Optimizer::aggregated(chain()).unwrap();
        let mut outside = begin;
        for step in 0..5 {
            let grads = grads(&outside, step);
            outside = optimizer.step(outside, grads).unwrap();
        }
        assert_eq!(flat(&inside), flat(&outside));
        assert_eq!(inside.first.weight.val().dtype(), dtype);
        assert!(inside.first.weight.is_require_grad());
    }
}

#[test]
fn adamw_is_burns_adamw_when_it_has_its_defaults() {
    let begin = cast(model(), DType::F64);
    let ours = Leafwise::new(adamw(0.05).eps(1e-5).weight_decay(1e-4)).unwrap();
    let burns = AdamWConfig::new().with_weight_decay(1e-4).init();
    let ours = train(ours.into(), begin.clone(), 0..5);
    let burns = train(burns, begin, 0..5);
    // burn takes its corrections in f32, where 1 - 0.999 has lost four of seven digits.
    assert_close(&flat(&ours), &flat(&burns), 2e-5);
}

#[test]
fn burns_learning_rate_takes_the_place_of_the_chains() {
    let begin = model();
    let schedule = || adam(cosine_decay_schedule(3.0, 2));
    let scheduled = train(
        Leafwise::new(schedule()).unwrap().into(),
        begin.clone(),
        0..3,
    );
    let plain = train(
        Leafwise::new(adam(77.0)).unwrap().into(),
        begin.clone(),
        0..3,
    );
    assert_eq!(flat(&scheduled), flat(&plain));
    let mut optimizer: ModuleOptimizer = Leafwise::new(adam(0.1)).unwrap().into();
    let grads = grads(&begin, 0);
    let after = optimizer.step(0.0, begin.clone(), grads);
    assert_eq!(flat(&after), flat(&begin));
}

#[test]
fn parameter_groups_take_chains() {
    let begin = model();
    let optimizer: ModuleOptimizer = Leafwise::new(sgd(0.1)).unwrap().into();
    let second = ParamGroup::from_predicate("second");
    let optimizer = optimizer.with_group(second, Leafwise::new(lion(0.1)).unwrap(), None);
    let after = train(optimizer, begin.clone(), 0..1);
    let moved = |before: Tensor<2>, after: Tensor<2>| numbers(after - before);
    for step in moved(begin.second.weight.val(), after.second.weight.val()) {
        assert!((step.abs() - 0.05).abs() < 1e-2, "lion takes signs: {step}");
    }
    let sgd = train(Leafwise::new(sgd(0.1)).unwrap().into(), begin, 0..1);
    assert_eq!(
        numbers(after.first.weight.val()),
        numbers(sgd.first.weight.val())
    );
}

#[test]
fn burns_record_goes_on_to_the_last_bit() {
    let chain = || chain((trace(0.9), scale_by_adam(), scale_by_learning_rate(1.0)));
    let new = || ModuleOptimizer::from(Leafwise::new(chain()).unwrap());
    let whole = train(new(), model(), 0..6);
    let mut optimizer = new();
    let mut model = model();
    for step in 0..3 {
        let grads = grads(&model, step);
        model = optimizer.step(0.05, model, grads);
    }
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let bytes = optimizer.into_bytes().unwrap();
        sizes.push(bytes.len());
        optimizer = new().load_record(OptimizerRecord::from_bytes(bytes).unwrap());
    }
    // burn writes the parameters in the order of a hash map, and the format pads between them.
    assert!(sizes[0].abs_diff(sizes[2]) < 100, "a record does not grow");
    assert_eq!(flat(&train(optimizer, model, 3..6)), flat(&whole));
}

fn saved(chain: Leafwise, model: &Mlp) -> OptimizerRecord {
    let mut optimizer: ModuleOptimizer = chain.into();
    let grads = grads(model, 0);
    optimizer.step(0.05, model.clone(), grads);
    optimizer.to_record()
}

#[test]
#[should_panic(expected = "it belongs to another chain")]
fn a_record_of_another_chain_is_not_taken_for_none() {
    let model = model();
    let record = saved(Leafwise::new(adam(0.1)).unwrap(), &model);
    let optimizer = ModuleOptimizer::from(Leafwise::new(adan(0.1)).unwrap());
    train(optimizer.load_record(record), model, 1..2);
}

#[test]
#[should_panic(expected = "has the shape [3, 4], but [3, 5] is needed")]
fn a_record_of_another_shape_is_not_taken_for_none() {
    let mut model = model();
    let record = saved(Leafwise::new(adam(0.1)).unwrap(), &model);
    let id = model.first.weight.id;
    let wider = Mlp::new(3, 5, 2, &device());
    let weight = wider.first.weight.val();
    model.first.weight = Param::initialized(id, weight);
    model.first.bias = wider.first.bias;
    model.second.weight = wider.second.weight;
    let optimizer = ModuleOptimizer::from(Leafwise::new(adam(0.1)).unwrap());
    train(optimizer.load_record(record), model, 1..2);
}

#[test]
fn what_reaches_across_leaves_is_refused_by_name() {
    let refused = |spec: &str| {
        let spec: ChainSpec = serde_json::from_str(spec).unwrap();
        let chain = Catalogue::standard().build(&spec).unwrap();
        Leafwise::from_dyn(&chain).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused(r#"[{"link": "clip_by_global_norm", "max_norm": 1}, {"link": "adam", "learning_rate": 0.1}]"#), @"`clip_by_global_norm` reads all leaves together, but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step");
    insta::assert_snapshot!(refused(r#"[{"link": "adamw", "learning_rate": 0.1, "mask": {"matching": "*.weight"}}]"#), @r#"`adamw.add_decayed_weights` selects leaves by their paths ("*.weight"), but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step"#);
    insta::assert_snapshot!(refused(r#"[{"link": "partition", "parts": [{"leaves": {"matching": "*.bias"}, "links": [{"link": "sgd", "learning_rate": 0.1}]}, {"leaves": "all", "links": "set_to_zero"}]}]"#), @r#"`chain` selects leaves by their paths (part 1 of ("*.bias", all)), but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step"#);
    insta::assert_snapshot!(refused(r#"["polyak_sgd"]"#), @"`polyak_sgd.scale_by_polyak` reads the named input `loss`, but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step");
    insta::assert_snapshot!(refused(r#"[{"link": "apply_if_finite", "links": [{"link": "sgd", "learning_rate": 0.1}], "max_consecutive_errors": 2}]"#), @"`apply_if_finite` reads all leaves together, but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step");
    insta::assert_snapshot!(refused(r#"[{"link": "scale", "step_size": -0.1}]"#), @r#"the chain has no hyper-parameter `learning_rate` (it has scale.step_size), so the learning rate that burn gives at each step would be ignored: end it with `scale_by_learning_rate`, or name a hyper-parameter so by `.named("learning_rate")`"#);
}

#[test]
fn selections_by_shape_need_no_other_leaf() {
    let begin = model();
    let chain = || adamw(0.05).weight_decay(0.5).mask(Leaves::RankAtLeast(2));
    let inside = train(Leafwise::new(chain()).unwrap().into(), begin.clone(), 0..2);
    let mut optimizer = Optimizer::aggregated(chain()).unwrap();
    let mut outside = begin;
    for step in 0..2 {
        let grads = grads(&outside, step);
        outside = optimizer.step(outside, grads).unwrap();
    }
    assert_eq!(flat(&inside), flat(&outside));
    let muon = train(Leafwise::new(muon(0.01)).unwrap().into(), model(), 0..2);
    assert!(flat(&muon).iter().all(|x| x.is_finite()));
}

#[test]
#[should_panic(expected = "it is no state of a pergrad chain")]
fn a_record_of_burns_own_optimizer_is_not_taken_for_none() {
    let model = model();
    let mut burns = AdamWConfig::new().init();
    let grads = grads(&model, 0);
    burns.step(0.05, model.clone(), grads);
    let optimizer = ModuleOptimizer::from(Leafwise::new(adam(0.1)).unwrap());
    train(optimizer.load_record(burns.to_record()), model, 1..2);
}
