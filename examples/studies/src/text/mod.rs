//! Sequences of tokens: a made-up language of known entropy, or the bytes of a file.
//!
//! The made-up language is the default: 64 words with Zipf's frequencies, each drawn from the two before it, so that the least
//! possible loss is known and a study needs no download. A file (`--text FILE`) is read as bytes, each byte that occurs a token. The
//! last tenth is kept for validation.

mod language;

use std::path::PathBuf;

use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::Serialize;

use crate::random::Random;
use language::Language;

/// Which text.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct TextSettings {
    /// A file whose bytes are the tokens, instead of the made-up language
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// How many words the made-up language has
    #[arg(long, default_value_t = 64)]
    pub words: usize,
    /// How long a text is made up
    #[arg(long, default_value_t = 200_000)]
    pub tokens: usize,
    /// The seed of the made-up language
    #[arg(long, default_value_t = 1)]
    pub text_seed: u64,
}

impl TextSettings {
    /// A language of few words, for tests.
    pub fn tiny() -> Self {
        Self {
            text: None,
            words: 12,
            tokens: 4_000,
            text_seed: 1,
        }
    }
}

/// What is wrong with a text, and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The file cannot be read.
    #[error("the text {} cannot be read ({source}): give a file by `--text FILE`, or leave it out for the made-up language", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The made-up language has too few or too many words.
    #[error(
        "the made-up language must have 2 to 1000 words, not {words}: set `--words`, 64 if in doubt"
    )]
    Words {
        /// What came.
        words: usize,
    },
    /// The text has one token only, which nobody need learn.
    #[error(
        "the text has {vocabulary} different tokens, but there must be 2 at least: take another file"
    )]
    Vocabulary {
        /// What came.
        vocabulary: usize,
    },
    /// A part of the text is shorter than one sequence.
    #[error(
        "the {part} part of the text has {tokens} tokens, but one sequence needs {needed}: take a longer text (`--tokens`, or another file) or a shorter `--context`"
    )]
    Short {
        /// Training or validation.
        part: &'static str,
        /// How long it is.
        tokens: usize,
        /// How long it must be.
        needed: usize,
    },
    /// A batch without sequences or tokens.
    #[error(
        "a batch of {examples} sequences of {context} tokens has nothing to learn: both must be at least 1"
    )]
    Empty {
        /// The sequences.
        examples: usize,
        /// The tokens of each.
        context: usize,
    },
}

/// A text as numbers of tokens, in a part for training and one for validation.
#[derive(Clone, Debug)]
pub struct Text {
    vocabulary: usize,
    entropy_rate: Option<f64>,
    train: Vec<i64>,
    validation: Vec<i64>,
}

impl Text {
    /// Reads the file, or makes up the text.
    ///
    /// # Errors
    /// A file that cannot be read; less than two different tokens; a language of too few or too many words.
    pub fn load(settings: &TextSettings) -> Result<Self, TextError> {
        match &settings.text {
            Some(path) => {
                let bytes = std::fs::read(path).map_err(|source| TextError::File {
                    path: path.clone(),
                    source,
                })?;
                Self::from_bytes(&bytes)
            }
            None => {
                let words = settings.words;
                if !(2..=1000).contains(&words) {
                    return Err(TextError::Words { words });
                }
                let mut random = Random::new(settings.text_seed);
                let language = Language::new(words, &mut random);
                let tokens = language.text(settings.tokens, &mut random);
                // The sum over all triples of words takes seconds above this.
                let rate = (words <= 128).then(|| language.entropy_rate());
                Ok(Self::new(tokens, words, rate))
            }
        }
    }

    /// The bytes of a text, each that occurs a token.
    ///
    /// # Errors
    /// Less than two different bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TextError> {
        let known: Vec<u8> = (0..=u8::MAX).filter(|b| bytes.contains(b)).collect();
        let vocabulary = known.len();
        if vocabulary < 2 {
            return Err(TextError::Vocabulary { vocabulary });
        }
        let tokens = bytes
            .iter()
            .map(|b| known.iter().position(|k| k == b).expect("it occurs"));
        Ok(Self::new(tokens.collect(), vocabulary, None))
    }

    #[allow(clippy::cast_possible_wrap)] // numbers of words
    fn new(tokens: Vec<usize>, vocabulary: usize, entropy_rate: Option<f64>) -> Self {
        let mut train: Vec<i64> = tokens.into_iter().map(|token| token as i64).collect();
        let validation = train.split_off(train.len() - train.len() / 10);
        Self {
            vocabulary,
            entropy_rate,
            train,
            validation,
        }
    }

    /// How many different tokens there are.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// The least loss that any model can reach, in nats for each token, where it is known: for a made-up language of up to 128 words.
    pub fn entropy_rate(&self) -> Option<f64> {
        self.entropy_rate
    }

    /// The number of tokens for training and for validation.
    pub fn len(&self) -> (usize, usize) {
        (self.train.len(), self.validation.len())
    }

    /// A text without tokens.
    pub fn is_empty(&self) -> bool {
        self.train.is_empty() && self.validation.is_empty()
    }

    /// Checks that both parts have a sequence of this context.
    ///
    /// # Errors
    /// A part that is shorter than `context + 1`, or a context of 0.
    pub fn check(&self, context: usize) -> Result<(), TextError> {
        if context == 0 {
            return Err(TextError::Empty {
                examples: 1,
                context,
            });
        }
        for (part, tokens) in [
            ("training", self.train.len()),
            ("validation", self.validation.len()),
        ] {
            let needed = context + 1;
            if tokens < needed {
                return Err(TextError::Short {
                    part,
                    tokens,
                    needed,
                });
            }
        }
        Ok(())
    }

    /// Sequences from random places of the training part, `[B, T + 1]`: the first T tokens are what a model sees, the last T what it
    /// shall say.
    ///
    /// # Errors
    /// A part that is shorter than a sequence; no examples; a context of 0.
    pub fn batch(
        &self,
        examples: usize,
        context: usize,
        random: &mut Random,
        device: &Device,
    ) -> Result<Tensor<2, Int>, TextError> {
        self.check(context)?;
        let places = self.train.len() - context;
        let starts = (0..examples).map(|_| random.below(places)).collect();
        sequences(&self.train, starts, context, device)
    }

    /// The first sequences of the validation part that do not overlap, `[B, T + 1]`: at most `most` of them, always the same.
    ///
    /// # Errors
    /// A part that is shorter than a sequence; `most` 0; a context of 0.
    pub fn validation(
        &self,
        most: usize,
        context: usize,
        device: &Device,
    ) -> Result<Tensor<2, Int>, TextError> {
        self.check(context)?;
        let length = context + 1;
        let starts = (0..=self.validation.len() - length).step_by(length);
        sequences(
            &self.validation,
            starts.take(most).collect(),
            context,
            device,
        )
    }
}

fn sequences(
    tokens: &[i64],
    starts: Vec<usize>,
    context: usize,
    device: &Device,
) -> Result<Tensor<2, Int>, TextError> {
    let examples = starts.len();
    if examples == 0 {
        return Err(TextError::Empty { examples, context });
    }
    let rows = starts
        .into_iter()
        .flat_map(|start| &tokens[start..=start + context]);
    let data = TensorData::new(rows.copied().collect::<Vec<i64>>(), [examples, context + 1]);
    Ok(Tensor::from_data(data, device))
}
