//! Embeddings, averaged or added up, and a linear head.

use burn::module::Module;
use burn::tensor::Tensor;
use pergrad::nn::{Embedding, Linear};
use pergrad::transforms::runner::HostTensor;
use serde::Deserialize;

use super::case::Network;
use super::loss::Loss;
use super::params::Params;
use super::place::Place;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pool: Pool,
    /// Which tokens do not count under [`Pool::MaskedMean`].
    padding_id: Option<f64>,
    pub(crate) loss: Loss,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Pool {
    Mean,
    Sum,
    MaskedMean,
}

/// The pool of the rows of emb; fc.
#[derive(Module, Debug)]
pub(crate) struct EmbeddingBag {
    emb: Embedding,
    fc: Linear,
    #[module(skip)]
    pool: Pool,
    #[module(skip)]
    padding_id: Option<f64>,
}

impl EmbeddingBag {
    pub(crate) fn new(args: &Args, params: &Params<'_>) -> Result<Self, String> {
        Ok(Self {
            emb: params.embedding("emb")?,
            fc: params.linear("fc")?,
            pool: args.pool,
            padding_id: args.padding_id,
        })
    }

    /// What each token counts, `[B, T, 1]`: one share of those that are not padding. Nothing but padding counts nothing.
    fn shares(&self, ids: &HostTensor) -> HostTensor {
        let tokens = ids.shape[1];
        let counts = |id: &&f64| Some(**id) != self.padding_id;
        let shares = ids.values.chunks(tokens).flat_map(|ids| {
            let share = 1.0 / ids.iter().filter(counts).count().max(1) as f64;
            ids.iter()
                .map(move |id| if counts(&id) { share } else { 0.0 })
        });
        HostTensor::new([ids.shape[0], tokens, 1], shares.collect::<Vec<_>>())
    }
}

impl Network for EmbeddingBag {
    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2> {
        let rows = self.emb.forward(place.indices(inputs));
        let pooled = match self.pool {
            Pool::Mean => rows.mean_dim(1),
            Pool::Sum => rows.sum_dim(1),
            Pool::MaskedMean => (rows * place.tensor(&self.shares(inputs))).sum_dim(1),
        };
        self.fc.forward(pooled.flatten(1, 2))
    }
}
