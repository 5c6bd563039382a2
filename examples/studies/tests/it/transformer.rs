//! The transformer: it looks back only, and its per-example gradients are those of one example at a time.

use burn::tensor::{Device, Int, Tensor};
use pergrad_studies::random::Random;
use pergrad_studies::text::{Text, TextSettings};
use pergrad_studies::transformer::{Transformer, TransformerError, TransformerSettings};

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter::<f32>().collect()
}

fn model(device: &Device) -> Transformer {
    Transformer::new(&TransformerSettings::tiny(), 12, 1, device).unwrap()
}

#[test]
fn a_later_token_changes_no_earlier_score() {
    let device = Device::default();
    let model = model(&device);
    let scores = |last: i64| {
        let seen = Tensor::<2, Int>::from_ints([[3, 5, 1, last]], &device);
        numbers(model.forward(seen))
    };
    let (one, other) = (scores(2), scores(7));
    assert_eq!(one[..36], other[..36]);
    assert_ne!(one[36..], other[36..]);
}

#[test]
fn the_same_seed_makes_the_same_losses_close_to_those_of_guessing() {
    let device = Device::default();
    let text = Text::load(&TextSettings::tiny()).unwrap();
    let batch = text.batch(5, 4, &mut Random::new(1), &device).unwrap();
    let losses = numbers(model(&device).losses(batch.clone()));
    assert_eq!(losses, numbers(model(&device).losses(batch)));
    assert_eq!(losses.len(), 5);
    assert!(losses.iter().all(|loss| loss.is_finite() && *loss > 0.0));
}

#[test]
fn captured_gradients_are_those_of_one_example_at_a_time() {
    let device = Device::default().autodiff();
    let text = Text::load(&TextSettings::tiny()).unwrap();
    let batch = text.batch(3, 4, &mut Random::new(1), &device).unwrap();
    let losses = |m: &Transformer, b: std::ops::Range<usize>| m.losses(batch.clone().slice([b]));
    pergrad::check_per_example_grads(&model(&device), 3, losses, 1e-3).unwrap();
}

#[test]
fn sizes_that_make_no_transformer_are_refused() {
    let device = Device::default();
    let sizes = TransformerSettings {
        heads: 3,
        ..TransformerSettings::tiny()
    };
    let error = Transformer::new(&sizes, 12, 1, &device).unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 heads cannot share a width of 8: take a width that is a multiple of the heads"
    );
    let sizes = TransformerSettings {
        layers: 0,
        ..TransformerSettings::tiny()
    };
    assert!(matches!(
        Transformer::new(&sizes, 12, 1, &device),
        Err(TransformerError::Zero { name: "layers" })
    ));
}
