//! A literal that can be hashed and that survives JSON, infinities and NaN included.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An `f64` that is compared by its bits. Readable serde formats get `"NaN"`, `"inf"` or `"-inf"` where JSON has no number.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Number {}

impl std::hash::Hash for Number {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let x = self.0;
        if x != 0.0 && x.is_finite() && !(1e-4..1e7).contains(&x.abs()) {
            write!(f, "{x:e}")
        } else {
            write!(f, "{x}")
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_finite() || !serializer.is_human_readable() => serializer.serialize_f64(x),
            x if x.is_nan() => serializer.serialize_str("NaN"),
            x if x > 0.0 => serializer.serialize_str("inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Number, E> {
                Ok(Number(x))
            }

            #[allow(clippy::cast_precision_loss)] // whole numbers among hyper-parameters are small
            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Number, E> {
                Ok(Number(x as f64))
            }

            #[allow(clippy::cast_precision_loss)]
            fn visit_u64<E: de::Error>(self, x: u64) -> Result<Number, E> {
                Ok(Number(x as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "NaN" | "nan" => Ok(Number(f64::NAN)),
                    "inf" => Ok(Number(f64::INFINITY)),
                    "-inf" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        if !deserializer.is_human_readable() {
            return f64::deserialize(deserializer).map(Self);
        }
        deserializer.deserialize_any(Visitor)
    }
}
