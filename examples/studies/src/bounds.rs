//! Settings that must lie within bounds, checked before a study does anything.

/// A setting that makes no study.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`--{name}` must be {expected}, but it is {got}")]
pub struct OutOfBounds {
    /// The setting, as it is written on the command line.
    pub name: &'static str,
    /// What would do.
    pub expected: &'static str,
    /// What came.
    pub got: String,
}

/// Refuses the first of these sizes that is 0.
///
/// # Errors
/// A size of 0.
pub fn at_least_one<const N: usize>(sizes: [(&'static str, usize); N]) -> Result<(), OutOfBounds> {
    let zero = sizes.into_iter().find(|(_, size)| *size == 0);
    zero.map_or(Ok(()), |(name, size)| {
        Err(OutOfBounds {
            name,
            expected: "at least 1",
            got: size.to_string(),
        })
    })
}

/// Refuses a number that is not above 0 and finite, such as a learning rate of NaN.
///
/// # Errors
/// Such a number.
pub fn positive(name: &'static str, x: f64) -> Result<(), OutOfBounds> {
    let expected = "a finite number above 0";
    within(name, expected, x, x > 0.0 && x.is_finite())
}

/// Refuses a number that does not fit.
///
/// # Errors
/// Such a number.
pub fn within(
    name: &'static str,
    expected: &'static str,
    x: f64,
    fits: bool,
) -> Result<(), OutOfBounds> {
    if fits {
        return Ok(());
    }
    Err(OutOfBounds {
        name,
        expected,
        got: x.to_string(),
    })
}
