//! Standard normal numbers for a range of elements.

use std::f64::consts::TAU;
use std::ops::Range;

use chacha20::rand_core::Rng;

use super::Key;

/// Words of 32 bits that two normals are made from.
const WORDS_PER_PAIR: u128 = 4;

/// The standard normal numbers of a stream for `elements` of a leaf, where the link has taken `count` steps before.
///
/// Box and Muller: elements `2k` and `2k + 1` are `r cos t` and `r sin t` with `r = sqrt(-2 ln u)` and `t = 2 pi v`, where `u` and
/// `v` have 53 bits and are in (0, 1]. So `u` is never 0, every number is finite, and none is beyond 8.6.
///
/// # Example
/// ```
/// use pergrad_transforms::random::{Key, normals};
/// let key = Key::new([7; 32]);
/// assert_eq!(normals(&key, 3, 0, 0..10)[4..], normals(&key, 3, 0, 4..10));
/// ```
///
/// # Reference
/// Box and Muller, 1958; Bernstein, 2008, "ChaCha, a variant of Salsa20".
pub fn normals(key: &Key, count: u64, leaf: usize, elements: Range<usize>) -> Vec<f64> {
    let mut out = vec![0.0; elements.len()];
    fill_normals(key, count, leaf, elements.start, &mut out);
    out
}

/// The same into a slice, from element `first` on. Parts of a leaf can be filled in any order and at once.
pub fn fill_normals(key: &Key, count: u64, leaf: usize, first: usize, out: &mut [f64]) {
    // A key for each leaf, so that count and element have 64 bits each.
    let mut generator = key.part(leaf as u64).generator(count);
    generator.set_word_pos((first as u128 / 2) * WORDS_PER_PAIR);
    let mut pair = || {
        let radius = (-2.0 * uniform(generator.next_u64()).ln()).sqrt();
        let (sin, cos) = (TAU * uniform(generator.next_u64())).sin_cos();
        [radius * cos, radius * sin]
    };
    // An odd beginning is the second half of its pair.
    let (odd, rest) = out.split_at_mut(out.len().min(first % 2));
    for number in odd {
        *number = pair()[1];
    }
    for numbers in rest.chunks_mut(2) {
        numbers.copy_from_slice(&pair()[..numbers.len()]);
    }
}

/// In (0, 1], in steps of 2^-53.
#[allow(clippy::cast_precision_loss)] // 53 bits fit
pub(crate) fn uniform(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
}
