//! Random chains of the catalogue: what the run-time checker accepts can be traced and run.

use pergrad_transforms::spec::{Catalogue, ChainSpec, placements};
use pergrad_transforms::{AxisKind, Error};
use proptest::prelude::*;

use super::data;
use super::samples::{SAMPLES, Stands, link};
use crate::model::{reference, steps};
use pergrad_transforms::runner::Runner;

/// What a chain gives for per-example gradients by the table of [`Stands`], or the position of the first link that does
/// not fit.
fn walk(chain: &[usize]) -> Result<AxisKind, usize> {
    let mut axis = AxisKind::PerExample;
    for (position, &at) in chain.iter().enumerate() {
        axis = match (SAMPLES[at].0, axis) {
            (Stands::Anywhere, axis) => axis,
            (Stands::Before, AxisKind::PerExample) => AxisKind::PerExample,
            (Stands::Reduces | Stands::ReducesOrAfter, AxisKind::PerExample)
            | (Stands::ReducesOrAfter | Stands::After, AxisKind::Aggregated) => {
                AxisKind::Aggregated
            }
            _ => return Err(position),
        };
    }
    Ok(axis)
}

fn spec(chain: &[usize]) -> ChainSpec {
    chain.iter().map(|&at| link(SAMPLES[at].1)).collect()
}

fn samples() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..SAMPLES.len(), 0..6)
}

proptest! {
    #[test]
    fn the_checker_accepts_exactly_what_the_table_accepts(chain in samples()) {
        let built = Catalogue::standard().build(&spec(&chain)).unwrap();
        match (built.optimizer_program(), walk(&chain)) {
            (Ok(_), Ok(AxisKind::Aggregated))
            | (Err(Error::EndsPerExample), Ok(AxisKind::PerExample)) => {}
            (Err(Error::Order { position, .. }), Err(expected)) => prop_assert_eq!(position, expected),
            (got, expected) => prop_assert!(false, "{:?} is not {:?}", got, expected),
        }
    }

    #[test]
    fn an_accepted_chain_runs_and_survives_json(
        before in samples(),
        reduction in 0..SAMPLES.len(),
        after in samples(),
        examples in prop::sample::select(vec![0_usize, 1, 2, 3, 8]),
        size in prop::sample::select(vec![0_usize, 1, 5, 33]),
    ) {
        let keep = |chain: Vec<usize>, allowed: &[Stands]| -> Vec<usize> {
            chain.into_iter().filter(|&at| allowed.contains(&SAMPLES[at].0)).collect()
        };
        let mut chain = keep(before, &[Stands::Anywhere, Stands::Before]);
        chain.push(reduction);
        chain.extend(keep(after, &[Stands::Anywhere, Stands::ReducesOrAfter, Stands::After]));
        prop_assume!(walk(&chain) == Ok(AxisKind::Aggregated));

        let spec = spec(&chain);
        let program = Catalogue::standard().build(&spec).unwrap().optimizer_program().unwrap();
        let text = serde_json::to_string(&program).unwrap();
        let back: pergrad_transforms::Program = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&back, &program);

        let inputs = data::steps(&program, 2, examples, size);
        let first = reference::<f64>(&program, &inputs[0]).step(&inputs[0]);
        match program.check_batch(examples) {
            Err(error) => prop_assert_eq!(first.unwrap_err(), error),
            Ok(()) => {
                let (got, expected) = (steps::<f64>(&back, &inputs), steps::<f64>(&program, &inputs));
                prop_assert_eq!(format!("{got:?}"), format!("{expected:?}"));
                prop_assert_eq!(&got[0].updates["v.bias"].shape, &[size]);
            }
        }
    }

    #[test]
    fn placements_are_the_positions_that_the_table_accepts(
        chain in prop::collection::vec(0..SAMPLES.len(), 0..4),
        new in 0..SAMPLES.len(),
    ) {
        let found = placements(&link(SAMPLES[new].1), &spec(&chain), &Catalogue::standard()).unwrap();
        let expected: Vec<usize> = (0..=chain.len())
            .filter(|&position| {
                let mut longer = chain.clone();
                longer.insert(position, new);
                walk(&longer) == Ok(AxisKind::Aggregated)
            })
            .collect();
        let positions: Vec<usize> = found.iter().map(|p| p.position).collect();
        prop_assert_eq!(positions, expected);
    }
}
