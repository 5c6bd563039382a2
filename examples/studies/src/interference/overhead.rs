//! What the moved update costs, by the width of the network.

use std::time::{Duration, Instant};

use burn::module::Module;
use burn::tensor::Device;
use pergrad::prelude::{reduce_interference, sgd};
use pergrad::{Optimizer, per_example_grads};

use super::arm::last_layer;
use crate::classifier::{Classifier, numbers};
use crate::cnn::Cnn;
use crate::digits::Digits;
use crate::table::Table;

/// The median time of a step, plain and with so many iterations of the solver, in turns.
pub(super) fn table(
    digits: &Digits,
    (widths, iterations): (&[usize], &[usize]),
    (batch, repetitions): (usize, usize),
    device: &Device,
) -> Result<Table, Box<dyn std::error::Error>> {
    let mut columns = vec![
        "channels".to_owned(),
        "parameters".into(),
        "plain, ms".into(),
    ];
    for count in iterations {
        columns.push(format!("{count} iterations, ms"));
        columns.push("overhead, %".into());
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(
        format!("time of a step over {batch} images, SGD, lambda 1"),
        &columns,
    );
    for &width in widths {
        let times = times(digits, (width, iterations), (batch, repetitions), device)?;
        let parameters = Cnn::new(digits, width, 1, device).num_params();
        let plain = times[0].as_secs_f64() * 1e3;
        let mut row = vec![width.into(), parameters.into(), plain.into()];
        for time in &times[1..] {
            let time = time.as_secs_f64() * 1e3;
            row.extend([time.into(), (100.0 * (time / plain - 1.0)).into()]);
        }
        table.rows.push(row);
    }
    Ok(table)
}

/// Of the plain optimizer, and of each number of iterations.
fn times(
    digits: &Digits,
    (width, iterations): (usize, &[usize]),
    (batch, repetitions): (usize, usize),
    device: &Device,
) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let rows: Vec<usize> = (0..batch).map(|at| at % digits.len()).collect();
    let batch = digits.batch(&rows, device);
    // A step so small that the network stays as it is, and the harm with it.
    let inner = sgd(1e-6).momentum(0.9);
    let mut optimizers = vec![Optimizer::new(inner.clone())?];
    for &count in iterations {
        let moved = reduce_interference(inner.clone(), 1.0);
        optimizers.push(Optimizer::new(moved.iterations(count).layer(last_layer()))?);
    }
    let mut times = vec![Vec::new(); optimizers.len()];
    let mut model = Cnn::new(digits, width, 1, device);
    for turn in 0..=repetitions {
        for (optimizer, times) in optimizers.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let (losses, grads) = per_example_grads(&model, |m| m.losses(batch.clone()))?;
            model = optimizer.step(model, grads)?;
            // Waits for the step, on a device that would not.
            numbers(losses + model.output.bias.as_ref().expect("it has one").val().sum());
            // The first turn makes state and finds its plan.
            if turn > 0 {
                times.push(start.elapsed());
            }
        }
    }
    Ok(times.into_iter().map(median).collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
