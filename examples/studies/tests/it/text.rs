//! Texts of both kinds, and what is refused.

use burn::tensor::{Device, Int, Tensor};
use pergrad_studies::random::Random;
use pergrad_studies::text::{Text, TextError, TextSettings};

fn numbers(x: Tensor<2, Int>) -> Vec<i64> {
    x.into_data().iter::<i64>().collect()
}

#[test]
fn the_same_seed_makes_the_same_batches() {
    let draw = || {
        let text = Text::load(&TextSettings::tiny()).unwrap();
        let batch = text.batch(3, 5, &mut Random::new(2), &Device::default());
        numbers(batch.unwrap())
    };
    let batch = draw();
    assert_eq!(batch, draw());
    assert_eq!(batch.len(), 3 * 6);
    assert!(batch.iter().all(|token| (0..12).contains(token)));
}

#[test]
fn the_entropy_rate_lies_below_that_of_single_words() {
    let text = Text::load(&TextSettings::tiny()).unwrap();
    let rate = text.entropy_rate().unwrap();
    assert!(rate > 0.0 && rate < 12_f64.ln());
    assert_eq!(text.len(), (3600, 400));
}

#[test]
fn bytes_of_a_file_are_tokens_whatever_they_encode() {
    let path = std::env::temp_dir().join(format!("pergrad_text_{}", std::process::id()));
    std::fs::write(&path, [b"ab\xffa".repeat(10), b"c".to_vec()].concat()).unwrap();
    let settings = TextSettings {
        text: Some(path.clone()),
        ..TextSettings::tiny()
    };
    let text = Text::load(&settings).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((text.vocabulary(), text.entropy_rate()), (4, None));
    assert_eq!(text.len(), (37, 4));
    let held_out = text.validation(9, 1, &Device::default()).unwrap();
    assert_eq!(numbers(held_out), [1, 3, 0, 2]);
}

#[test]
fn what_makes_no_text_is_refused_with_the_way_out() {
    let missing = TextSettings {
        text: Some("no/such/file".into()),
        ..TextSettings::tiny()
    };
    let error = Text::load(&missing).unwrap_err();
    assert!(matches!(error, TextError::File { .. }));
    assert!(
        error
            .to_string()
            .starts_with("the text no/such/file cannot be read")
    );

    let error = Text::from_bytes(b"aaaa").unwrap_err();
    assert!(error.to_string().contains("1 different tokens"));
    let words = TextSettings {
        words: 1,
        ..TextSettings::tiny()
    };
    assert!(matches!(
        Text::load(&words),
        Err(TextError::Words { words: 1 })
    ));

    let text = Text::from_bytes(b"abcabcabcabcabcabcabc").unwrap();
    let device = Device::default();
    let error = text
        .batch(2, 8, &mut Random::new(1), &device)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the validation part of the text has 2 tokens, but one sequence needs 9"),
        "{error}"
    );
    assert!(matches!(
        text.validation(0, 1, &device),
        Err(TextError::Empty { .. })
    ));
    assert!(matches!(
        text.batch(2, 0, &mut Random::new(1), &device),
        Err(TextError::Empty { .. })
    ));
}

#[test]
fn a_text_without_tokens_is_refused_when_it_is_used() {
    let none = TextSettings {
        tokens: 0,
        ..TextSettings::tiny()
    };
    let text = Text::load(&none).unwrap();
    assert!(text.is_empty());
    assert!(matches!(text.check(1), Err(TextError::Short { .. })));
}
