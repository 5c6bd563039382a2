//! What the random numbers of a chain begin with.

use super::Key;

/// What the random numbers of a link begin with. `Debug` does not show it.
///
/// | | for |
/// |--|--|
/// | `Seed::from(7)` | tests, and runs that can be repeated |
/// | [`Seed::from_os`] | privacy: nobody knows it, and each run has another |
/// | [`Seed::from_key`] | privacy, and a run that goes on after a break |
///
/// A seed is part of the chain, and not of the state that is saved. A chain that is built again with the same seed goes on from a
/// saved state bit by bit. It gives the same noise as before: whoever publishes both what came before and what comes after must go on
/// with the same batches too, or take another seed.
///
/// Two links of a chain may have the same seed, their numbers differ. A clone of a chain gives the same numbers as the chain.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let noisy = |seed| program(&chain((mean(), add_gaussian_noise(0.1, seed)))).unwrap();
/// assert_eq!(noisy(Seed::from(7)), noisy(Seed::from(7)));
/// assert_ne!(noisy(Seed::from_os()), noisy(Seed::from_os()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed(Key);

impl Seed {
    /// A seed from the random numbers of the operating system.
    ///
    /// # Panics
    /// If the operating system has none.
    pub fn from_os() -> Self {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
        Self::from_key(bytes)
    }

    /// A seed of 256 bits that the caller keeps secret, and gives again to go on.
    pub fn from_key(bytes: [u8; 32]) -> Self {
        Self(Key::new(bytes))
    }

    /// A seed of 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        Key::from_hex(text).map(Self)
    }

    /// The key of the stream with this number. There are fewer than 2^32 in a program; greater numbers are for other uses.
    pub(crate) fn key(&self, number: u64) -> Key {
        self.0.part(number)
    }
}

/// A seed for tests and for runs that can be repeated. 64 bits are too few to be secret.
impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Self::from_key(bytes)
    }
}
