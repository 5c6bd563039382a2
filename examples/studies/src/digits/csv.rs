//! Images from a file: label, pixel, pixel, ... in each line.

use std::path::Path;

use super::{Digits, DigitsError};

/// More than the classes of any data set here; a file with its columns in another order is noticed by it.
const MOST_CLASSES: usize = 1000;

/// Reads images, and divides their pixels by the largest of all. A first line of names is left out, as are empty lines.
pub(super) fn read(path: &Path) -> Result<Digits, DigitsError> {
    let text = std::fs::read_to_string(path).map_err(|source| DigitsError::File {
        path: path.to_owned(),
        source,
    })?;
    let (mut size, mut pixels, mut labels) = (None, Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let names = at == 0 && fields.iter().all(|field| field.parse::<f64>().is_err());
        if names || line.trim().is_empty() {
            continue;
        }
        let line = at + 1;
        labels.push(label(fields[0], line)?);
        let before = pixels.len();
        for (at, field) in fields[1..].iter().enumerate() {
            pixels.push(pixel(field, line, at + 2)?);
        }
        let got = pixels.len() - before;
        let expected = *size.get_or_insert(got);
        if got == 0 || got.isqrt().pow(2) != got {
            return Err(DigitsError::NotSquare { line, pixels: got });
        }
        if got != expected {
            return Err(DigitsError::OtherSize {
                line,
                expected,
                got,
            });
        }
    }
    let classes = labels.iter().max().map_or(0, |label| label + 1);
    if labels.len() < 2 || classes < 2 {
        return Err(DigitsError::TooFew {
            images: labels.len(),
            classes,
        });
    }
    let largest = pixels.iter().fold(0.0_f32, |largest, x| largest.max(*x));
    if largest > 0.0 {
        pixels.iter_mut().for_each(|x| *x /= largest);
    }
    Ok(Digits {
        side: size.unwrap_or(0).isqrt(),
        classes,
        pixels,
        labels,
    })
}

fn label(field: &str, line: usize) -> Result<usize, DigitsError> {
    let label = field.parse().ok().filter(|label| *label < MOST_CLASSES);
    label.ok_or_else(|| DigitsError::Field {
        line,
        field: 1,
        expected: "a label, a whole number from 0 to 999",
        got: field.to_owned(),
    })
}

fn pixel(field: &str, line: usize, at: usize) -> Result<f32, DigitsError> {
    let pixel = field
        .parse()
        .ok()
        .filter(|x: &f32| x.is_finite() && *x >= 0.0);
    pixel.ok_or_else(|| DigitsError::Field {
        line,
        field: at,
        expected: "a pixel, a finite number of at least 0",
        got: field.to_owned(),
    })
}
