//! Both ways of training the digits in burn-train's loop, side by side.

use burn::tensor::Device;
use pergrad_training::digits::Digits;
use pergrad_training::{leafwise, whole};

fn main() {
    let device = Device::default().autodiff();
    let dir = std::env::temp_dir().join("pergrad_training");
    let digits = Digits::load();
    let epochs = 5;
    let inside = leafwise::train(&digits, epochs, &device, &dir.join("leafwise"));
    let (across, clipped) = whole::train(&digits, epochs, &device, &dir.join("whole"));
    println!("{:<48}{:>9}", "chain", "accuracy");
    println!(
        "{:<48}{inside:>9.3}",
        "clip -> adamw, in burn's ModuleOptimizer"
    );
    println!(
        "{:<48}{across:>9.3}",
        "clip_per_example -> micro_adam, by `optimize`"
    );
    println!(
        "the last step of the second clipped {clipped} examples; logs and checkpoints are in {}",
        dir.display()
    );
}
