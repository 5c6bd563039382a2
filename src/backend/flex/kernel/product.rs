//! Inputs in two factors: an element of row `b` is `sum_t left[b,t,l] right[b,t,r]`, computed in the tile where it is read.

use std::ops::Range;

use num_traits::Float;
use pulp::Arch;

/// The two factors, `[B, T, L]` and `[B, T, R]`, contiguous.
#[derive(Clone, Copy)]
pub(super) struct Product<'a, E> {
    pub(super) left: &'a [E],
    pub(super) right: &'a [E],
    /// T, L and R.
    pub(super) sides: [usize; 3],
}

/// Columns whose sums are in registers at once.
const LANES: usize = 16;
/// Rows of the parameter that are computed together, so that what is read of `right` is used as often.
pub(super) const LINES: usize = 4;

impl<E: Float> Product<'_, E> {
    /// The columns of a row, each an element of the parameter `[L, R]`.
    pub(super) fn fill(&self, arch: Arch, row: usize, columns: &Range<usize>, out: &mut [E]) {
        let [tokens, rows, width] = self.sides;
        let left = &self.left[row * tokens * rows..][..tokens * rows];
        let right = &self.right[row * tokens * width..][..tokens * width];
        let mut at = columns.start;
        while at < columns.end {
            let (line, first) = (at / width, at % width);
            let whole = if first == 0 {
                (columns.end - at) / width
            } else {
                0
            };
            let out = &mut out[at - columns.start..];
            if whole >= LINES {
                let out = &mut out[..LINES * width];
                lines::<E, LINES>(arch, left, right, self.sides, line, 0..width, out);
                at += LINES * width;
            } else {
                let end = width.min(first + columns.end - at);
                let out = &mut out[..end - first];
                lines::<E, 1>(arch, left, right, self.sides, line, first..end, out);
                at += end - first;
            }
        }
    }
}

/// Some columns of N lines that follow each other.
fn lines<E: Float, const N: usize>(
    arch: Arch,
    left: &[E],
    right: &[E],
    [tokens, rows, width]: [usize; 3],
    line: usize,
    columns: Range<usize>,
    out: &mut [E],
) {
    let length = columns.len();
    arch.dispatch(
        #[inline(always)]
        || {
            let mut at = 0;
            while at < length {
                let count = LANES.min(length - at);
                let mut sums = [[E::zero(); LANES]; N];
                for t in 0..tokens {
                    let start = t * width + columns.start + at;
                    let mut x = [E::zero(); LANES];
                    if count == LANES {
                        x.copy_from_slice(&right[start..start + LANES]);
                    } else {
                        x[..count].copy_from_slice(&right[start..start + count]);
                    }
                    let by = &left[t * rows + line..][..N];
                    for n in 0..N {
                        for lane in 0..LANES {
                            // Rounded after the multiplication, so that opposite tokens cancel.
                            sums[n][lane] = sums[n][lane] + by[n] * x[lane];
                        }
                    }
                }
                for n in 0..N {
                    out[n * length + at..][..count].copy_from_slice(&sums[n][..count]);
                }
                at += count;
            }
        },
    );
}
