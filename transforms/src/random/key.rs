//! The key of a random stream.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The 256 bits that the numbers of a stream are made from. `Debug` does not show them; serde writes them as 64 hexadecimal
/// digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// These bits.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of a part, which tells nothing of this one nor of other parts.
    pub(crate) fn part(&self, number: u64) -> Self {
        let mut bytes = [0; 32];
        self.generator(number).fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The generator at the beginning of one of its 2^64 sequences.
    pub(crate) fn generator(&self, nonce: u64) -> ChaCha20Rng {
        let mut generator = ChaCha20Rng::from_seed(self.0);
        generator.set_stream(nonce);
        generator
    }

    /// The key that these digits mean.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() == 64)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::try_from(16 * pair[0] + pair[1]).expect("two digits");
        }
        Some(Self(bytes))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = self.0.iter().map(|byte| format!("{byte:02x}"));
        serializer.serialize_str(&digits.collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The text itself would show the secret in a message.
        Self::from_hex(&text).ok_or_else(|| de::Error::custom("a key is 64 hexadecimal digits"))
    }
}
