//! Compares chains with the numbers of the Python libraries that they follow.
//!
//! ```text
//! cargo run --release --example parity -- tests/golden/aggregated_aliases.json
//! cargo run --release --example parity -- --f32 --only adam tests/golden/*.json
//! ```
//!
//! Each case of a golden file is turned into a chain from the catalogue and runs on the reference (plain loops on the host)
//! and on burn's CPU backend Flex. A line says how far the updates are from those of the library; a function that has no
//! link here is reported as unsupported, and a case in which pergrad differs on purpose as such, never as ok. Models are built from `pergrad::nn` and their per-example gradients are
//! captured and taken one example at a time. See `tests/golden/README.md` for the files.

mod compare;
mod convert;
mod different;
mod executors;
mod golden;
mod kept;
mod leaves;
mod link;
mod measure;
mod models;
mod per_example;
mod report;
mod run;
mod schedule;
mod statistics;

use std::process::ExitCode;

use pergrad::transforms::Dtype;

use golden::File;
use report::Summary;

const USAGE: &str = "usage: parity [--f32] [--only SUBSTRING] FILE...

Compares the cases of golden files with the chains of this crate, on every executor.

  --f32             run in f32 with |got - want| <= 1e-5 |want| + 1e-6 times the largest element
                    of the case (in the cases _mixed, _tiny and _huge: at the same position over the steps);
                    a few cases that lose more have more (see compare.rs);
                    cases that the library computed in f32, and schedules, keep their own tolerance;
                    models have 1e-4 times the largest element of each tensor
  --only SUBSTRING  only the cases whose name contains it

The exit status is 1 if a case failed.";

struct Options {
    dtype: Dtype,
    only: String,
    files: Vec<String>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options {
        dtype: Dtype::F64,
        only: String::new(),
        files: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--f32" => options.dtype = Dtype::F32,
            "--only" => options.only = arguments.next()?,
            option if option.starts_with('-') => return None,
            _ => options.files.push(argument),
        }
    }
    (!options.files.is_empty()).then_some(options)
}

fn read(path: &str) -> Result<File, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    File::parse(&text)
}

fn main() -> ExitCode {
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut summary = Summary::default();
    for path in &options.files {
        let file = match read(path) {
            Ok(file) => file,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        };
        println!("# {path}: {}", file.source);
        for line in run::run(&file, options.dtype) {
            if line.name.contains(&options.only) {
                print!("{line}");
                summary.add(&line);
            }
        }
    }
    print!("{summary}");
    ExitCode::from(u8::from(summary.failed > 0))
}
