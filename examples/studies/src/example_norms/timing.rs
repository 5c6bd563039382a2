//! What the norms cost beside an ordinary backward pass. A single number of one machine; see the benchmarks for better ones.

use std::time::{Duration, Instant};

use burn::tensor::Device;
use pergrad::{Settings, per_example_grads, per_example_norms};

use crate::classifier::Classifier;
use crate::digits::Digits;
use crate::table::Table;

/// The median time of each way over some repetitions on one batch.
pub(super) fn table<C: Classifier>(
    model: &C,
    digits: &Digits,
    (batch, repetitions): (usize, usize),
    device: &Device,
) -> Result<Table, Box<dyn std::error::Error>> {
    let rows: Vec<usize> = (0..batch).map(|at| at % digits.len()).collect();
    let batch = digits.batch(&rows, device);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    // In turns, so that whatever else the machine does meets them alike.
    for _ in 0..repetitions {
        times[0].push(timed(|| {
            model.losses(batch.clone()).mean().backward();
            Ok(())
        })?);
        times[1].push(timed(|| {
            let losses = |m: &C| m.losses(batch.clone());
            per_example_norms(model, losses, Settings::default()).map(drop)
        })?);
        times[2].push(timed(|| {
            per_example_grads(model, |m| m.losses(batch.clone())).map(drop)
        })?);
    }
    let [plain, norms, grads] = times.map(median);
    let mut table = Table::new(
        format!(
            "time of a forward and a backward pass over {} images",
            rows.len()
        ),
        &["what", "milliseconds", "over the first"],
    );
    for (name, time) in [
        ("ordinary gradient of the mean loss", plain),
        ("norm of each example", norms),
        ("gradient of each example, as factors", grads),
    ] {
        let ratio = time.as_secs_f64() / plain.as_secs_f64();
        table.row([name.into(), (time.as_secs_f64() * 1e3).into(), ratio.into()]);
    }
    Ok(table)
}

fn timed(pass: impl FnOnce() -> Result<(), pergrad::Error>) -> Result<Duration, pergrad::Error> {
    let start = Instant::now();
    pass()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
