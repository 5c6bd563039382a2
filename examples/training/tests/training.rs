//! Both ways train.

use burn::tensor::Device;
use pergrad_training::digits::Digits;
use pergrad_training::{leafwise, whole};

/// So many that any fresh weights get far above chance, which is 0.1.
const EPOCHS: usize = 6;

fn folder(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("pergrad_training_{name}_{}", std::process::id()))
}

#[test]
fn a_chain_in_burns_optimizer_trains() {
    let dir = folder("leafwise");
    let device = Device::default().autodiff();
    let accuracy = leafwise::train(&Digits::load(), EPOCHS, &device, &dir);
    assert!(accuracy > 0.5, "{accuracy}");
    // burn's checkpoints hold the state of the chain.
    assert!(
        dir.join("checkpoint/optim-6.bpk").exists(),
        "{:?}",
        std::fs::read_dir(dir.join("checkpoint"))
            .unwrap()
            .map(|f| f.unwrap().path())
            .collect::<Vec<_>>()
    );
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_chain_across_leaves_trains_by_its_own_step() {
    let dir = folder("whole");
    let device = Device::default().autodiff();
    let (accuracy, _) = whole::train(&Digits::load(), EPOCHS, &device, &dir);
    assert!(accuracy > 0.5, "{accuracy}");
    std::fs::remove_dir_all(dir).unwrap();
}
