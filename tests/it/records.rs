//! Saved state: burn's file format and compact serde formats, models that have been renamed or built anew, and what does not fit.

use burn::module::Module;
use burn::tensor::{Bytes, DType};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::transforms::State;
use pergrad::{Optimizer, Record, per_example_grads};

use crate::models::{Mlp, cast, device, fixed, numbers};

/// The same layers under other names.
#[derive(Module, Debug)]
struct Renamed {
    output: Linear,
    hidden: Linear,
}

fn chain_of_kinds() -> impl pergrad::transforms::Transform<
    pergrad::transforms::PerExample,
    Out = pergrad::transforms::Aggregated,
> {
    // State of leaves, of numbers and of the host; hyper-parameters that are schedules; a name with the separator of the file.
    chain((
        mean(),
        ema(0.9).named("a/b"),
        accumulate(chain((trace(0.9), adam(cosine_decay_schedule(0.1, 9)))), 2),
    ))
}

fn step(optimizer: &mut Optimizer, model: Mlp, at: usize) -> Mlp {
    let x = fixed([5, 3], at, model.first.weight.val().dtype(), &device());
    let (_, grads) = per_example_grads(&model, |m| m.losses(x)).unwrap();
    optimizer.step(model, grads).unwrap()
}

fn trained(dtype: DType) -> (Optimizer, Mlp) {
    let mut model = cast(Mlp::new(3, 4, 2, &device()), dtype);
    let mut optimizer = Optimizer::new(chain_of_kinds()).unwrap();
    for at in 0..3 {
        model = step(&mut optimizer, model, at);
    }
    (optimizer, model)
}

fn weights(model: &Mlp) -> Vec<f64> {
    let mut all = numbers(model.first.weight.val());
    all.extend(numbers(model.second.weight.val()));
    all
}

/// Both go on, one from a copy that `through` makes of the state.
fn goes_on(dtype: DType, through: impl Fn(&mut Optimizer, &Mlp) -> Optimizer) {
    let (mut optimizer, mut model) = trained(dtype);
    let mut copy = through(&mut optimizer, &model);
    assert_eq!(
        copy.state(&model).unwrap(),
        optimizer.state(&model).unwrap()
    );
    let mut other = model.clone();
    for at in 3..6 {
        model = step(&mut optimizer, model, at);
        other = step(&mut copy, other, at);
    }
    assert_eq!(weights(&model), weights(&other));
}

#[test]
fn a_file_of_burns_format_goes_on_to_the_last_bit() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let path =
            std::env::temp_dir().join(format!("pergrad_{}_{dtype:?}.bpk", std::process::id()));
        goes_on(dtype, |optimizer, model| {
            optimizer.record(model).unwrap().save(&path).unwrap();
            let mut copy = Optimizer::new(chain_of_kinds()).unwrap();
            copy.load_record(model, &Record::load(&path).unwrap())
                .unwrap();
            copy
        });
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_compact_serde_format_goes_on_to_the_last_bit() {
    goes_on(DType::F32, |optimizer, model| {
        let bytes = postcard::to_stdvec(&optimizer.state(model).unwrap()).unwrap();
        let state: State = postcard::from_bytes(&bytes).unwrap();
        let mut copy = Optimizer::new(chain_of_kinds()).unwrap();
        copy.load(model, &state).unwrap();
        copy
    });
}

#[test]
fn a_record_is_as_large_as_its_state_and_does_not_grow() {
    let (mut optimizer, model) = trained(DType::F32);
    let size = |optimizer: &mut Optimizer| {
        let record = optimizer.record(&model).unwrap();
        let elements: usize = record.state().slots.iter().map(|s| s.values.len()).sum();
        (record.into_bytes().unwrap(), elements)
    };
    let (bytes, elements) = size(&mut optimizer);
    // Beside the numbers, of four bytes, the names and the rule.
    assert!(
        bytes.len() < 4 * elements + 30_000,
        "{} {elements}",
        bytes.len()
    );
    let mut again = Optimizer::new(chain_of_kinds()).unwrap();
    let length = bytes.len();
    again
        .load_record(&model, &Record::from_bytes(bytes).unwrap())
        .unwrap();
    assert_eq!(size(&mut again).0.len(), length);
}

#[test]
fn a_renamed_module_is_found_by_its_parameters() {
    let (mut optimizer, model) = trained(DType::F32);
    let record = optimizer.record(&model).unwrap();
    let before = optimizer.state(&model).unwrap();
    let Mlp { first, second } = model;
    let renamed = Renamed {
        output: second,
        hidden: first,
    };
    let mut copy = Optimizer::new(chain_of_kinds()).unwrap();
    copy.load_record(&renamed, &record).unwrap();
    let after = copy.state(&renamed).unwrap();
    for slot in before.slots {
        let leaf = slot
            .leaf
            .as_ref()
            .map(|leaf| leaf.replace("first", "hidden").replace("second", "output"));
        let found = after.get(&slot.name, leaf.as_deref()).unwrap();
        assert_eq!(found.values, slot.values, "{}", slot.name);
    }
}

#[test]
fn a_model_built_anew_is_found_by_its_paths() {
    let (mut optimizer, model) = trained(DType::F32);
    let record = optimizer.record(&model).unwrap();
    let anew = Mlp::new(3, 4, 2, &device());
    assert_ne!(anew.first.weight.id, model.first.weight.id);
    let mut copy = Optimizer::new(chain_of_kinds()).unwrap();
    copy.load_record(&anew, &record).unwrap();
    assert_eq!(copy.state(&anew).unwrap(), optimizer.state(&model).unwrap());
}

#[test]
fn a_record_of_another_model_lists_what_differs_and_changes_nothing() {
    let (mut optimizer, model) = trained(DType::F32);
    let mut wide = Optimizer::new(chain_of_kinds()).unwrap();
    let wider = Mlp::new(3, 5, 2, &device());
    let record = wide.record(&wider).unwrap();
    let before = optimizer.state(&model).unwrap();
    let error = optimizer
        .load_record(&model, &record)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(
            "`a/b.moment` of leaf `first.weight` has the shape [3, 5], but [3, 4] is needed"
        ),
        "{error}"
    );
    assert!(error.contains("of leaf `first.bias`"), "{error}");
    assert_eq!(optimizer.state(&model).unwrap(), before);
    let mut other = Optimizer::new(adam(0.1)).unwrap();
    let error = other.load_record(&model, &record).unwrap_err().to_string();
    assert!(error.contains("it belongs to another chain"), "{error}");
}

#[test]
fn other_files_are_no_records() {
    let noise = Record::from_bytes(Bytes::from_bytes_vec(vec![7; 100]));
    assert!(noise.is_err());
    // A record of one of burn's own optimizers is a burnpack file, but not ours.
    let record = burn::optim::OptimizerRecord::default()
        .into_bytes()
        .unwrap();
    let error = Record::from_bytes(record).unwrap_err().to_string();
    assert!(
        error.contains("no record of a pergrad optimizer"),
        "{error}"
    );
    let cut = |keep: usize| {
        let (mut optimizer, model) = trained(DType::F32);
        let bytes = optimizer.record(&model).unwrap().into_bytes().unwrap();
        Record::from_bytes(Bytes::from_bytes_vec(bytes[..keep].to_vec()))
    };
    assert!(cut(40).is_err());
}

#[test]
fn a_file_that_is_read_and_written_is_the_same_file() {
    let (mut optimizer, model) = trained(DType::F32);
    let bytes = optimizer.record(&model).unwrap().into_bytes().unwrap();
    let again = Record::from_bytes(bytes.clone()).unwrap();
    assert_eq!(again.into_bytes().unwrap()[..], bytes[..]);
}
