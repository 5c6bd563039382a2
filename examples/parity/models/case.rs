//! From the kind of a case to its model.

use burn::module::Module;
use burn::tensor::Tensor;
use pergrad::nn::{LayerNorm, RmsNorm};
use pergrad::transforms::Dtype;
use pergrad::transforms::runner::HostTensor;
use serde::Deserialize;
use serde_json::json;

use super::super::compare::{Comparison, Tolerance};
use super::super::convert::Unsupported;
use super::super::golden::{Case, ModelCase};
use super::super::report::Outcome;
use super::check::Check;
use super::conv_net::{self, ConvNet};
use super::embedding_bag::{self, EmbeddingBag};
use super::loss::Loss;
use super::mlp::{self, Mlp};
use super::norm::{Kind, NoNorm};
use super::params::Params;
use super::place::Place;
use super::reused::{self, Reused, Scalar};
use super::transformer::{self, Transformer};

/// A model that a case can have: the kinds and arguments of the files. Whatever is not here is unsupported.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", content = "args", rename_all = "snake_case")]
enum Model {
    Mlp(mlp::Args),
    Reused(reused::Args),
    ScalarReused(reused::ScalarArgs),
    ConvNet(conv_net::Args),
    EmbeddingBag(embedding_bag::Args),
    Transformer(transformer::Args),
}

/// A model of one of the kinds, with the parameters of a case.
pub(crate) trait Network: Module {
    /// Whether a layer computes in f32 whatever the dtype.
    const F32_INSIDE: bool = false;

    /// The outputs of some examples, everything behind the batch axis in one: `[B, ..] -> [B, N]`.
    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2>;
}

/// Builds the model of a case and checks it.
pub(crate) fn outcome(case: &Case, data: &ModelCase, dtype: Dtype) -> Outcome {
    match read(data) {
        Err(unsupported) => Outcome::Unsupported(unsupported),
        Ok(model) => {
            let place = Place::new(dtype);
            let run = Run {
                case,
                data,
                dtype,
                place,
            };
            run.model(&model)
        }
    }
}

fn read(data: &ModelCase) -> Result<Model, Unsupported> {
    let call = &data.model;
    let value = json!({ "kind": call.kind, "args": call.args });
    Model::deserialize(value).map_err(|error| {
        let error = error.to_string();
        let reason = error.split(", expected").next().unwrap_or(&error);
        Unsupported::new(&call.kind, format!("no such model: {reason}"))
    })
}

/// A case, and what it runs in.
struct Run<'a> {
    case: &'a Case,
    data: &'a ModelCase,
    dtype: Dtype,
    place: Place,
}

impl Run<'_> {
    fn model(&self, model: &Model) -> Outcome {
        let params = Params::new(&self.data.params, &self.place);
        match model {
            Model::Mlp(args) => match args.norm {
                None => self.check(args.loss, Mlp::<NoNorm>::new(args, &params)),
                Some(Kind::LayerNorm) => {
                    self.check(args.loss, Mlp::<LayerNorm>::new(args, &params))
                }
                Some(Kind::RmsNorm) => self.check(args.loss, Mlp::<RmsNorm>::new(args, &params)),
            },
            Model::Reused(args) => self.check(args.loss, Reused::new(args, &params)),
            Model::ScalarReused(args) => self.check(args.loss, Scalar::new(&params)),
            Model::ConvNet(args) => self.check(args.loss, ConvNet::new(args, &params)),
            Model::EmbeddingBag(args) => self.check(args.loss, EmbeddingBag::new(args, &params)),
            Model::Transformer(args) => match args.norm {
                Kind::LayerNorm => {
                    self.check(args.loss, Transformer::<LayerNorm>::new(args, &params))
                }
                Kind::RmsNorm => self.check(args.loss, Transformer::<RmsNorm>::new(args, &params)),
            },
        }
    }

    /// A model that cannot be built has failed.
    fn check<M: Network>(&self, loss: Loss, model: Result<M, String>) -> Outcome {
        match model {
            Ok(model) => {
                let check = Check {
                    data: self.data,
                    place: &self.place,
                    loss,
                    dtype: self.dtype,
                    tolerance: Tolerance::of_model(self.case, self.dtype, M::F32_INSIDE),
                };
                check.run(&model)
            }
            Err(error) => {
                let mut comparison = Comparison::default();
                comparison.fail(|| error);
                Outcome::Ran(vec![(format!("model {}", self.dtype), comparison)])
            }
        }
    }
}
