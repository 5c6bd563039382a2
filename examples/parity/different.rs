//! Cases in which pergrad differs from the library on purpose.

/// The cases by name, with the reason.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "acprop",
        "the library centers with the average before the step, the paper and later versions with the one after it",
    ),
    (
        "clip_by_global_norm_0_of_0",
        "zeros stay zeros, where the library divides 0 by 0",
    ),
    (
        "multi_steps_nan_poisons",
        "a NaN is gone with the mean it belongs to, where the library keeps it for ever",
    ),
    (
        "apply_every_nan_poisons",
        "a NaN is gone with the sum it belongs to, where the library keeps it for ever",
    ),
    (
        "contrib_normalize_zero",
        "zeros stay zeros, where the library divides 0 by 0",
    ),
    (
        "radam_low_threshold",
        "a threshold below 4 counts as 4, where the library takes the root of a negative number",
    ),
];

/// Why a case has other numbers here.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    let found = DIFFERENT.iter().find(|(case, _)| *case == name);
    found.map(|(_, reason)| *reason)
}
