//! Every schedule, at its first steps, at its boundaries and far behind its end.

use pergrad_transforms::schedule::Schedule;

use super::convert::schedule;
use super::file::cases;

/// Cases that are no schedule of ours.
const UNSUPPORTED: &[(&str, &str)] = &[(
    "polynomial_negative_begin",
    "the library takes a negative begin for 0; here it is refused",
)];

#[test]
fn schedules_have_the_values_of_optax() {
    let mut unsupported = Vec::new();
    for case in cases("schedules") {
        let data = schedule(case.schedule.as_ref().expect("a schedule"));
        let Ok(schedule) = serde_json::from_value::<Schedule>(data) else {
            unsupported.push(case.name);
            continue;
        };
        let values = case.values.as_ref().expect("values");
        for (step, want) in case.steps.iter().zip(values) {
            let got = schedule.value(*step);
            let what = format!("{} at {step}: {got:e} instead of {:e}", case.name, want.0);
            assert!(case.allows(got, want.0), "{what}");
        }
        let text = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
    }
    assert_eq!(
        unsupported,
        UNSUPPORTED
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
    );
}
