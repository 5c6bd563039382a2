//! A tour of the API on numbers small enough to check by hand.
//!
//!     cargo run --release --example compose

use std::collections::BTreeMap;

use burn::prelude::*;
use pergrad::prelude::*;
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec, placements};
use pergrad::transforms::update_trace::UpdateTrace;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Extras, HostRunner, Optimizer, PerExampleGrads};

/// A model of one parameter, `w = 0`.
#[derive(Module, Debug)]
struct Scalar {
    w: burn::module::Param<Tensor<1>>,
}

impl Scalar {
    fn new(device: &Device) -> Self {
        Self {
            w: burn::module::Param::from_tensor(Tensor::zeros([1], device)),
        }
    }
}

/// Runs a chain on the gradients 0, 2, 4, 6 of four examples, and returns the update.
fn update(
    chain: impl Transform<PerExample, Out = Aggregated>,
    device: &Device,
) -> Result<f32, pergrad::Error> {
    let g = Tensor::<2>::from_floats([[0.0], [2.0], [4.0], [6.0]], device);
    let grads = PerExampleGrads::builder().leaf("w", g).build()?;
    let mut optimizer = Optimizer::new(chain)?;
    let updates = optimizer.update(&Scalar::new(device), &grads)?;
    Ok(updates.leaf::<1>("w")?.into_scalar())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();

    println!("1. Four examples with the gradients 0, 2, 4, 6. The order of links matters:");
    println!("   mean                       {}", update(mean(), &device)?);
    println!(
        "   square, mean               {}  (the mean of the squares)",
        update(chain((square(), mean())), &device)?
    );
    println!(
        "   mean, square               {}   (the square of the mean)",
        update(mean().then(square()), &device)?
    );
    println!(
        "   variance(0), variance(1)   {}, {}",
        update(variance(0), &device)?,
        update(variance(1), &device)?
    );
    println!(
        "   sign, mean                 {}",
        update(chain((sign(), mean())), &device)?
    );
    println!(
        "   mean, sign                 {}",
        update(chain((mean(), sign())), &device)?
    );
    println!(
        "   clip_per_example(3), mean  {}",
        update(chain((clip_per_example(3.0), mean())), &device)?
    );
    println!(
        "   median                     {}",
        update(median(), &device)?
    );

    println!("\n2. Two statistics of one input meet in `zip` and `ratio`:");
    let snr = zip(mean(), variance(1).then(sqrt())).map(|mean, std| mean.div_or_zero(std));
    println!("   mean / standard deviation  {:.4}", update(snr, &device)?);
    let first_adam = ratio(mean(), chain((mean(), square(), sqrt())), 0.0);
    let first_micro = ratio(mean(), chain((square(), mean(), sqrt())), 0.0);
    println!(
        "   Adam's first step          {}",
        update(first_adam, &device)?
    );
    println!(
        "   MicroAdam's first step     {:.5}  (3 / sqrt 14)",
        update(first_micro, &device)?
    );

    println!("\n3. A chain is a program, which is data and text:\n");
    let chain_of_ours = chain((
        clip_per_example(1.0),
        mean(),
        ema(0.9),
        sign(),
        scale_by_learning_rate(0.1),
    ));
    print!("{}", optimizer_program(&chain_of_ours)?);

    println!("\n4. Chains come from data too, and a link can stand wherever it makes sense:");
    let rest: ChainSpec = serde_json::from_str(r#"["mean", {"link": "ema", "decay": 0.9}]"#)?;
    let catalogue = Catalogue::standard();
    for placement in placements(&LinkSpec::new("sign"), &rest, &catalogue)? {
        println!("   {}", placement.chain);
    }
    let wrong: ChainSpec =
        serde_json::from_str(r#"["mean", {"link": "clip_per_example", "max_norm": 1}]"#)?;
    println!(
        "   {}",
        catalogue.build(&wrong)?.optimizer_program().unwrap_err()
    );

    println!("\n5. Hyper-parameters have names, may be schedules, and can be set between steps:");
    let schedule = warmup_cosine_decay_schedule(0.0, 0.1, 2, 10);
    let mut optimizer = Optimizer::new(adam(schedule))?;
    let mut model = Scalar::new(&device);
    for _ in 0..3 {
        let g = Tensor::<2>::from_floats([[1.0], [3.0]], &device);
        let rate = optimizer.hyper("learning_rate")?;
        model = optimizer.step(model, PerExampleGrads::builder().leaf("w", g).build()?)?;
        println!(
            "   learning rate {rate:.3} -> w = {:.4}",
            model.w.val().into_scalar::<f32>()
        );
    }
    optimizer.set_hyper("learning_rate", 0.5)?;
    println!("   {}", optimizer.set_hyper("b1", 1.5).unwrap_err());

    println!("\n6. Inputs by name, metrics, and errors that lose nothing:");
    let weighted = chain((scale_per_example("weights"), clip_per_example(2.0), mean()));
    let mut optimizer = Optimizer::new(weighted)?;
    let g = Tensor::<2>::from_floats([[1.0], [3.0]], &device);
    let grads = PerExampleGrads::builder().leaf("w", g).build()?;
    let rejected = optimizer.step(model, grads).unwrap_err();
    println!("   {rejected}");
    let weights = Tensor::<1>::from_floats([1.0, 2.0], &device);
    let extras = Extras::new().per_example("weights", weights);
    optimizer.step_with(rejected.model, rejected.grads, &extras)?;
    let metrics: BTreeMap<_, _> = optimizer.metrics()?;
    println!(
        "   examples that were clipped: {:?}",
        metrics["clip_per_example.num_clipped"]
    );

    println!("\n7. Update rules as text, the same on every executor, for snapshot tests:\n");
    let trace = UpdateTrace::per_example(&micro_sign_sgd(0.1))?
        .leaf("w", [2], [1.0, -1.0])
        .step([("w", vec![-1.0, 0.0, -1.0, 2.0, 3.0, 2.0])])
        .step([("w", vec![-3.0, 0.0, -3.0, 0.0, 3.0, 0.0])]);
    let text = trace.on_reference()?;
    print!("{text}");
    let mut burn = HostRunner::new(trace.program(), &trace.tree()?, &device)?;
    assert_eq!(text, trace.run(&mut burn)?);
    Ok(())
}
