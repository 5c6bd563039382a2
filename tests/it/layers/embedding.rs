//! The embedding.

use burn::nn::EmbeddingConfig;
use burn::tensor::{DType, Int, Tensor};
use pergrad::grads::form::Form;
use pergrad::nn::Embedding;
use pergrad::{check_per_example_grads, per_example_grads};

use super::{holds, is_burns, losses, randomized, tolerance};
use crate::models::{device, numbers, random};

fn ids(examples: usize, tokens: usize) -> Tensor<2, Int> {
    // Ids repeat inside an example and across examples, and one of them never occurs.
    let ids = Tensor::<1, Int>::arange(0..(examples * tokens) as i64, &device());
    (ids * 3)
        .remainder_scalar(4)
        .div_scalar(2)
        .reshape([examples, tokens])
}

#[test]
fn captured_equals_one_example_at_a_time() {
    for dtype in [DType::F64, DType::F32] {
        for (examples, tokens) in [(1, 1), (1, 5), (3, 1), (3, 5)] {
            let layer = Embedding::new(&EmbeddingConfig::new(5, 3), &device());
            let layer = randomized(layer, dtype);
            let ids = ids(examples, tokens);
            let losses = |m: &Embedding, b: std::ops::Range<usize>| {
                losses(m.forward(ids.clone().slice([b])))
            };
            check_per_example_grads(&layer, examples, losses, tolerance(dtype)).unwrap();
        }
    }
}

#[test]
fn the_layer_is_burns() {
    let burn = EmbeddingConfig::new(5, 3).init(&device());
    let unused = random([1], DType::F32, &device());
    is_burns(
        burn,
        unused,
        |m: &burn::nn::Embedding, _| m.forward(ids(3, 4)),
        |m: &Embedding, _| m.forward(ids(3, 4)),
    );
}

#[test]
fn repeated_ids_add_up_inside_an_example_only() {
    // PAPERS.md section 2: ids [[1,1],[2,0],[2,0]], D [[.2,.2],[.3,.1],[.3,.1]], squared norms [.16,.10,.10].
    let layer = Embedding::new(&EmbeddingConfig::new(3, 1), &device());
    let ids = Tensor::<2, Int>::from_ints([[1, 1], [2, 0], [2, 0]], &device());
    let d = Tensor::<2>::from_floats([[0.2, 0.2], [0.3, 0.1], [0.3, 0.1]], &device());
    let (_, grads) = per_example_grads(&layer, |m| {
        (m.forward(ids).reshape([3, 2]) * d).sum_dim(1).reshape([3])
    })
    .unwrap();
    assert!(matches!(grads.form("weight"), Some(Form::Gather { .. })));
    let g = grads.leaf::<3>("weight").unwrap();
    let squares = numbers((g.clone() * g).sum_dim(1).flatten::<1>(0, 2));
    crate::models::assert_close(&squares, &[0.16, 0.10, 0.10], 1e-6);
}

#[test]
fn attending_to_the_rows_is_a_product_with_the_transposed_table() {
    let layer = Embedding::new(&EmbeddingConfig::new(5, 3), &device());
    holds(layer.clone(), [0, 3], Embedding::attend::<2>);
    holds(layer.clone(), [0, 4, 3], Embedding::attend::<3>);
    let x = random([2, 3], DType::F32, &device());
    let want = x.clone().matmul(layer.weight.val().transpose());
    assert_eq!(numbers(layer.attend(x).inner()), numbers(want.inner()));
}

#[test]
fn a_tied_embedding_adds_both_uses_up() {
    for dtype in [DType::F64, DType::F32] {
        let layer = Embedding::new(&EmbeddingConfig::new(5, 3), &device());
        let layer = randomized(layer, dtype);
        let losses = |m: &Embedding, b: std::ops::Range<usize>| {
            losses(m.attend(m.forward(ids(3, 4).slice([b])).tanh()))
        };
        check_per_example_grads(&layer, 3, losses, tolerance(dtype)).unwrap();
    }
}

#[test]
fn a_frozen_table_takes_no_part() {
    let mut layer = Embedding::new(&EmbeddingConfig::new(5, 3), &device());
    layer.weight = layer.weight.set_require_grad(false);
    let head = burn::nn::LinearConfig::new(3, 2);
    let model = (layer, pergrad::nn::Linear::new(&head, &device()));
    let losses = |m: &(Embedding, pergrad::nn::Linear), b: std::ops::Range<usize>| {
        losses(m.1.forward(m.0.forward(ids(3, 4).slice([b]))))
    };
    let (_, grads) = per_example_grads(&model, |m| losses(m, 0..3)).unwrap();
    assert_eq!(grads.paths().collect::<Vec<_>>(), ["1.weight", "1.bias"]);
    check_per_example_grads(&model, 3, losses, tolerance(DType::F32)).unwrap();
}
