//! Arguments that make no study: what came, and what was expected.

/// An argument that makes no study.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`--{name}` must be {expected}, but it is {got}")]
pub struct Refused {
    name: &'static str,
    expected: String,
    got: String,
}

/// Checks a number for which `fits` says whether it is what is expected.
///
/// # Errors
/// Another one, by the name of its argument.
pub fn within(
    name: &'static str,
    expected: impl Into<String>,
    got: impl ToString,
    fits: bool,
) -> Result<(), Refused> {
    if fits {
        return Ok(());
    }
    Err(Refused {
        name,
        expected: expected.into(),
        got: got.to_string(),
    })
}

/// Checks a number that must be finite and above 0, such as a learning rate.
///
/// # Errors
/// Another one, by the name of its argument.
pub fn positive(name: &'static str, x: f64) -> Result<(), Refused> {
    within(name, "a finite number above 0", x, x.is_finite() && x > 0.0)
}

/// Checks a decay: at least 0 and below 1.
///
/// # Errors
/// Another one, by the name of its argument.
pub fn decay(name: &'static str, x: f64) -> Result<(), Refused> {
    within(name, "at least 0 and below 1", x, (0.0..1.0).contains(&x))
}

/// Checks a number that may have any sign.
///
/// # Errors
/// A NaN or an infinity, by the name of its argument.
pub fn finite(name: &'static str, x: f64) -> Result<(), Refused> {
    within(name, "finite", x, x.is_finite())
}

/// Checks a count.
///
/// # Errors
/// One that is too small, by the name of its argument.
pub fn at_least(name: &'static str, least: usize, count: usize) -> Result<(), Refused> {
    within(name, format!("at least {least}"), count, count >= least)
}

/// Checks that none of these sizes is 0.
///
/// # Errors
/// The first that is, by the name of its argument.
pub fn at_least_one<const N: usize>(sizes: [(&'static str, usize); N]) -> Result<(), Refused> {
    let mut sizes = sizes.into_iter();
    sizes.try_for_each(|(name, size)| at_least(name, 1, size))
}

/// Checks a list.
///
/// # Errors
/// An empty one, by the name of its argument.
pub fn filled<T>(name: &'static str, list: &[T]) -> Result<(), Refused> {
    let expected = "one value or several, with commas between them";
    within(name, expected, "an empty list", !list.is_empty())
}
