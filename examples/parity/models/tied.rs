//! The output layer that is the token table: a bare weight that is captured.

use burn::tensor::Tensor;
use pergrad::capture::tape::{Use, is_recording, record};
use pergrad::grads::form::Form;
use pergrad::nn::Embedding;

/// `x tok^T`, `[B, T, d] -> [B, T, V]`. Its part of the gradient joins that of the embedding.
pub(crate) fn logits(tok: &Embedding, x: Tensor<3>) -> Tensor<3> {
    let table = tok.weight.val();
    let device = table.device();
    if !is_recording() {
        return x.matmul(table.transpose().unsqueeze());
    }
    let right = x.clone().inner();
    // logits[t,v] = sum_d x[t,d] tok[v,d]: row v gets d[t,v] x[t].
    let used = Use::new(&tok.weight, move |left: Tensor<3>| Form::Outer {
        left,
        right,
    });
    let z = x.matmul(table.inner().transpose().unsqueeze());
    record(z, device, vec![used])
}
