//! Arguments that make no study: what came, what was expected, and the way out.

/// An argument that makes no study.
#[derive(Debug, thiserror::Error)]
#[error("`--{name}` must be {expected}, not {got}")]
pub struct Refused {
    name: &'static str,
    expected: String,
    got: String,
}

/// Checks a number that must be finite and above 0, such as a learning rate.
///
/// # Errors
/// Another one, by the name of its argument.
pub fn positive(name: &'static str, value: f64) -> Result<(), Refused> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    let (expected, got) = ("finite and above 0".to_owned(), value.to_string());
    Err(Refused {
        name,
        expected,
        got,
    })
}

/// Checks a decay: at least 0 and below 1.
///
/// # Errors
/// Another one, by the name of its argument.
pub fn decay(name: &'static str, value: f64) -> Result<(), Refused> {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    let (expected, got) = ("at least 0 and below 1".to_owned(), value.to_string());
    Err(Refused {
        name,
        expected,
        got,
    })
}

/// Checks a count.
///
/// # Errors
/// One that is too small, by the name of its argument.
pub fn at_least(name: &'static str, least: usize, value: usize) -> Result<(), Refused> {
    if value >= least {
        return Ok(());
    }
    let (expected, got) = (format!("at least {least}"), value.to_string());
    Err(Refused {
        name,
        expected,
        got,
    })
}

/// Checks a list.
///
/// # Errors
/// An empty one, by the name of its argument.
pub fn filled<T>(name: &'static str, list: &[T]) -> Result<(), Refused> {
    if !list.is_empty() {
        return Ok(());
    }
    let expected = "one value or several, with commas between them".to_owned();
    Err(Refused {
        name,
        expected,
        got: "an empty list".to_owned(),
    })
}

/// Checks a number that may have any sign.
///
/// # Errors
/// A NaN or an infinity, by the name of its argument.
pub fn finite(name: &'static str, value: f64) -> Result<(), Refused> {
    if value.is_finite() {
        return Ok(());
    }
    let (expected, got) = ("finite".to_owned(), value.to_string());
    Err(Refused {
        name,
        expected,
        got,
    })
}
