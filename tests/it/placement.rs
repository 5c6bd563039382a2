//! Statistics of coordinates of whole models, in whatever form the gradients are held.

use burn::nn::EmbeddingConfig;
use burn::tensor::{Device, Distribution, Int, Tensor};
use pergrad::nn::Embedding;
use pergrad::transforms::placement;
use pergrad::{Error, GradientStatistics, PerExampleGrads, per_example_grads, predict_placement};

/// Six sentences of three words, of which the last one does not occur.
fn embedded() -> (Embedding, PerExampleGrads) {
    let device = Device::default().autodiff();
    let layer = Embedding::new(&EmbeddingConfig::new(4, 2), &device);
    let ids = [
        [0, 0, 1],
        [2, 1, 0],
        [0, 2, 2],
        [1, 1, 1],
        [0, 1, 2],
        [2, 2, 0],
    ];
    let ids = Tensor::<2, Int>::from_ints(ids, &device);
    let losses = |m: &Embedding| {
        let x = m.forward(ids);
        (x.clone() * x).flatten::<2>(1, 2).sum_dim(1).flatten(0, 1)
    };
    let (_, grads) = per_example_grads(&layer, losses).unwrap();
    (layer, grads)
}

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter::<f64>().collect()
}

fn dense(rows: Vec<f32>, examples: usize) -> PerExampleGrads {
    let size = rows.len() / examples;
    let data = burn::tensor::TensorData::new(rows, [examples, size]);
    let rows = Tensor::<2>::from_data(data, &Device::default());
    PerExampleGrads::builder().leaf("w", rows).build().unwrap()
}

fn assert_close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!(
            (got - expected).abs() < 1e-5 * (1.0 + expected.abs()),
            "{got} is not {expected}"
        );
    }
}

#[test]
fn statistics_of_factors_are_those_of_the_gradients_in_full() {
    let (_, grads) = embedded();
    let statistics = GradientStatistics::of(&grads).unwrap();
    let g = numbers(grads.leaf::<3>("weight").unwrap());
    let column = |at: usize| (0..6).map(move |b| b * 8 + at);
    let mean: Vec<f64> = (0..8)
        .map(|at| column(at).map(|i| g[i]).sum::<f64>() / 6.0)
        .collect();
    let variance: Vec<f64> = (0..8)
        .map(|at| column(at).map(|i| (g[i] - mean[at]).powi(2)).sum::<f64>() / 5.0)
        .collect();
    assert!(mean.iter().any(|mean| *mean != 0.0));
    assert_close(statistics.mean(), &mean);
    assert_close(statistics.variance(), &variance);
    let leaves: Vec<_> = statistics.leaves().collect();
    assert_eq!(leaves, [("weight", 0..8)]);
}

#[test]
fn words_that_do_not_occur_are_silent() {
    let (_, grads) = embedded();
    let predicted = predict_placement(&grads, 0.9).unwrap();
    assert_eq!(
        (predicted.total.coordinates, predicted.total.silent),
        (6, 2)
    );
    assert_eq!(predicted.leaf("weight"), Some(&predicted.total));
    assert_eq!(predicted.leaf("bias"), None);
}

#[test]
fn merged_batches_are_one_batch() {
    let device = Device::default();
    let rows = Tensor::<2>::random([7, 3], Distribution::Normal(10.0, 1.0), &device);
    let rows: Vec<f32> = rows.into_data().try_to_vec().unwrap();
    let mut merged = GradientStatistics::of(&dense(rows[..6].to_vec(), 2)).unwrap();
    let other = GradientStatistics::of(&dense(rows[6..].to_vec(), 5)).unwrap();
    merged.merge(&other).unwrap();
    let whole = GradientStatistics::of(&dense(rows, 7)).unwrap();
    assert_eq!(merged.examples(), 7);
    assert_close(merged.mean(), whole.mean());
    assert_close(merged.variance(), whole.variance());
}

#[test]
fn each_leaf_is_predicted_from_its_own_coordinates() {
    let device = Device::default();
    let grads = PerExampleGrads::builder()
        .leaf("z", Tensor::<2>::from_floats([[1.0], [3.0]], &device))
        .leaf(
            "a",
            Tensor::<2>::from_floats([[0.0, 5.0], [2.0, 5.0]], &device),
        )
        .build()
        .unwrap();
    let predicted = predict_placement(&grads, 0.0).unwrap();
    let paths: Vec<&str> = predicted.leaves.iter().map(|(path, _)| &path[..]).collect();
    assert_eq!(paths, ["z", "a"], "in the order of the gradients");
    let z = placement::predict_placement(&[2.0], &[2.0], 2, 0.0).unwrap();
    assert_eq!(predicted.leaf("z"), Some(&z));
    let a = placement::predict_placement(&[1.0, 5.0], &[2.0, 0.0], 2, 0.0).unwrap();
    assert_eq!(predicted.leaf("a"), Some(&a));
    assert_eq!(predicted.total.quantile(1.0), f64::INFINITY);
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let one = predict_placement(&dense(vec![1.0, 2.0], 1), 0.9).unwrap_err();
    assert!(
        one.to_string()
            .starts_with("`coordinate_statistics` needs at least 2 examples, but the batch has 1")
    );
    let nan = predict_placement(&dense(vec![1.0, f32::NAN], 2), 0.9).unwrap_err();
    assert!(nan.to_string().contains("mean"), "{nan}");
    assert!(predict_placement(&dense(vec![1.0, 2.0], 2), 1.0).is_err());
    let none = PerExampleGrads::builder().build();
    assert!(none.is_err() || predict_placement(&none.unwrap(), 0.9).is_err());

    let mut statistics = GradientStatistics::of(&dense(vec![1.0, 2.0], 2)).unwrap();
    let kept = statistics.clone();
    let other = GradientStatistics::of(&dense(vec![1.0, 2.0, 3.0, 4.0], 2)).unwrap();
    let error = statistics.merge(&other).unwrap_err();
    assert!(matches!(error, Error::OtherLeaves { .. }));
    assert_eq!(
        error.to_string(),
        "statistics of the leaves w of 2 cannot be merged into those of w of 1: merge statistics of the gradients of one model"
    );
    assert_eq!(statistics, kept);
}
