//! How to compute: choices that change time and memory, never the meaning.

use std::fmt;

/// How the squared norm of each example's gradient is taken of a leaf with T > 1 tokens, held as `left [B, T, L]` and
/// `right [B, T, R]`. With T = 1 it is the product of the norms of both factors (Goodfellow, arXiv 1510.01799).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormMethod {
    /// The one that needs less memory: the ghost norm, unless the gradients in full, `[B, L, R]`, are smaller than their factors.
    #[default]
    Auto,
    /// `sum (left left^T) * (right right^T)`: `B T^2` numbers, `B T^2 (2 L + 2 R)` operations (arXiv 1510.01799). The products are taken
    /// in f64, since those of tokens that cancel do; a device without f64 does what `Simultaneous` does.
    Ghost,
    /// `left^T right` of each example, whose sum is the gradient: no operation is spent on the norms but `2 B L R` (arXiv 2411.00999).
    /// It holds `[B, L, R]` within the memory budget, else tile by tile. The least work where `T > sqrt(L R / (L + R))`.
    Simultaneous,
}

impl NormMethod {
    /// The method of the least work for a leaf of L x R elements that is used T times by each example: `Ghost` where
    /// `T^2 (L + R) <= L R`, else `Simultaneous` (Gray et al., arXiv 2411.00999).
    ///
    /// # Example
    /// ```
    /// use pergrad::NormMethod;
    /// assert_eq!(NormMethod::of_least_work(19, 768, 768), NormMethod::Ghost);
    /// assert_eq!(NormMethod::of_least_work(20, 768, 768), NormMethod::Simultaneous);
    /// assert_eq!(NormMethod::of_least_work(45, 4096, 4096), NormMethod::Ghost);
    /// assert_eq!(NormMethod::of_least_work(46, 4096, 4096), NormMethod::Simultaneous);
    /// ```
    pub fn of_least_work(tokens: usize, left: usize, right: usize) -> Self {
        if tokens * tokens * (left + right) <= left * right {
            Self::Ghost
        } else {
            Self::Simultaneous
        }
    }

    /// Whether the ghost norm needs no more memory than the gradients in full: `2 T^2 <= L R`.
    pub(super) fn ghost_is_smaller(tokens: usize, left: usize, right: usize) -> bool {
        2 * tokens * tokens <= left * right
    }
}

impl fmt::Display for NormMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Ghost => "ghost",
            Self::Simultaneous => "simultaneous",
        })
    }
}

/// Choices that change time and memory, never the meaning. See [`Optimizer::with_settings`](crate::Optimizer::with_settings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How per-example norms are taken.
    pub norm_method: NormMethod,
    /// How many bytes a per-example value of one leaf may have in full, `[B, P]`, where its factors do not tell what is asked; a larger
    /// one is computed some columns at a time. A hint, not a bound: one row of a weight matrix is the least.
    pub memory_budget: usize,
    /// Whether all that a leaf needs is computed in one pass, on devices that can; else by one operation of burn after the other.
    pub kernels: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            norm_method: NormMethod::Auto,
            memory_budget: 128 << 20,
            kernels: true,
        }
    }
}

impl Settings {
    /// The same with another way to take norms.
    #[must_use]
    pub fn norm_method(self, norm_method: NormMethod) -> Self {
        Self {
            norm_method,
            ..self
        }
    }

    /// The same with another memory budget, in bytes.
    #[must_use]
    pub fn memory_budget(self, memory_budget: usize) -> Self {
        Self {
            memory_budget,
            ..self
        }
    }

    /// The same with kernels, or without.
    #[must_use]
    pub fn kernels(self, kernels: bool) -> Self {
        Self { kernels, ..self }
    }

    /// Whether a value of this shape may be held in full.
    pub(crate) fn allows(&self, rows: usize, columns: usize, bytes: usize) -> bool {
        let size = rows.saturating_mul(columns).saturating_mul(bytes);
        size <= self.memory_budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ghost_norm_is_smaller_up_to_the_numbers_of_tokens_of_the_paper() {
        let smaller = |tokens, width| NormMethod::ghost_is_smaller(tokens, width, width);
        assert!(smaller(543, 768) && !smaller(544, 768));
        assert!(smaller(2896, 4096) && !smaller(2897, 4096));
    }
}
