//! What makes no set of images.

use std::path::PathBuf;

/// What was wrong with a file of images, or with its split.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigitsError {
    /// A file that cannot be read.
    #[error("cannot read `{}`: {source}; give the path of a text file, or leave `--data` out for the 8x8 digits", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A field that is no label or no pixel.
    #[error(
        "line {line}, field {field}: expected {expected}, got `{got}`; a line is a label and then the pixels, with commas between"
    )]
    Field {
        /// From 1.
        line: usize,
        /// From 1; the first is the label.
        field: usize,
        /// What stands there otherwise.
        expected: &'static str,
        /// What stands there.
        got: String,
    },
    /// A count of pixels that makes no square.
    #[error("line {line}: {pixels} pixels make no square image; 64 are 8x8, 784 are 28x28")]
    NotSquare {
        /// From 1.
        line: usize,
        /// How many there are.
        pixels: usize,
    },
    /// An image of another size than those before it.
    #[error("line {line}: {got} pixels, but the images before it have {expected}")]
    OtherSize {
        /// From 1.
        line: usize,
        /// As before.
        expected: usize,
        /// Here.
        got: usize,
    },
    /// Nothing to tell apart.
    #[error(
        "{images} images of {classes} classes: at least 2 images and the labels 0 and 1 are needed"
    )]
    TooFew {
        /// How many images there are.
        images: usize,
        /// One above the largest label.
        classes: usize,
    },
    /// No images for training, or none for testing.
    #[error(
        "`--train` must be at least 1 and below the number of images, {images}, so that some are left for testing, but it is {train}"
    )]
    Split {
        /// How many were asked for.
        train: usize,
        /// How many there are.
        images: usize,
    },
}
