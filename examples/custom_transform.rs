//! A link of one's own, on every executor.
//!
//!     cargo run --release --example custom_transform
//!
//! Each example's gradient is divided by the norm that its leaf's gradient had on average: a preconditioner applied before the
//! examples are reduced, which reads state.

use burn::tensor::Device;
use pergrad::HostRunner;
use pergrad::prelude::*;
use pergrad::transforms::update_trace::UpdateTrace;
use pergrad::transforms::{PerExample, PerLeaf};

/// Divides each example's gradient by a moving average of its leaf's norms.
#[derive(Clone, Debug)]
struct NormalizeByAverageNorm {
    decay: Hyper,
}

impl Transform<PerExample> for NormalizeByAverageNorm {
    type Out = PerExample;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let decay = cx.hyper("decay", &self.decay, Domain::Decay);
        let now = g.leaf_norm().mean(); // one number for each leaf
        let average =
            cx.state::<PerLeaf>("average", 0.0, |old| old * &decay + &now * (1.0 - &decay));
        let debiased = average / (1.0 - decay.pow(cx.step() + 1.0));
        g.div_or_zero(debiased)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let link = NormalizeByAverageNorm { decay: 0.9.into() };
    let trace = UpdateTrace::per_example(&chain((link, mean(), scale(-0.1))))?
        .leaf("w", [2], [1.0, -1.0])
        .leaf("b", [1], [0.0])
        .step([("w", vec![3.0, 4.0, 0.0, 5.0]), ("b", vec![1.0, 3.0])])
        .step([("w", vec![0.0, 0.0, 6.0, 8.0]), ("b", vec![2.0, 2.0])]);

    println!("the program:\n\n{}", trace.program());
    let reference = trace.on_reference()?;
    println!("on the reference (ndarray, f64):\n\n{reference}");
    let mut burn = HostRunner::new(trace.program(), &trace.tree()?, &Device::default())?;
    assert_eq!(reference, trace.run(&mut burn)?);
    println!("the same on burn, to 6 digits");
    Ok(())
}
