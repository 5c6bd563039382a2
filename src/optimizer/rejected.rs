//! A step that was refused: the error, and everything that was handed in.

use crate::error::Error;

/// Why a step was refused, with the model and the gradients that were handed in: nothing is lost.
///
/// `?` turns it into an [`Error`].
pub struct Rejected<M, G> {
    /// Why.
    pub error: Error,
    /// The model as it was.
    pub model: M,
    /// The gradients as they were.
    pub grads: G,
}

impl<M, G> Rejected<M, G> {
    pub(super) fn new(error: Error, model: M, grads: G) -> Box<Self> {
        Box::new(Self {
            error,
            model,
            grads,
        })
    }
}

impl<M, G> std::fmt::Debug for Rejected<M, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rejected")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<M, G> std::fmt::Display for Rejected<M, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl<M, G> std::error::Error for Rejected<M, G> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<M, G> From<Box<Rejected<M, G>>> for Error {
    fn from(rejected: Box<Rejected<M, G>>) -> Self {
        rejected.error
    }
}
