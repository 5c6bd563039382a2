//! Norms over the last axis.

use burn::module::{Module, ModuleDisplay};
use burn::nn::{LayerNormConfig, RmsNormConfig};
use burn::tensor::Tensor;
use pergrad::nn::{LayerNorm, RmsNorm};
use serde::Deserialize;

use super::params::Params;

const EPSILON: f64 = 1e-5;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    LayerNorm,
    RmsNorm,
}

/// A norm, or none: a type of its own, so that its leaves lie directly under its name, as in the files.
pub(crate) trait Norm: Module + ModuleDisplay {
    /// Whether it computes in f32 whatever the dtype.
    const F32_INSIDE: bool = false;

    fn build(params: &Params<'_>, name: &str) -> Result<Self, String>;

    fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D>;
}

impl Norm for LayerNorm {
    fn build(params: &Params<'_>, name: &str) -> Result<Self, String> {
        let gamma = params.param::<1>(&format!("{name}.gamma"))?;
        let config = LayerNormConfig::new(gamma.dims()[0]).with_epsilon(EPSILON);
        let mut norm = config.init(&gamma.device());
        norm.gamma = gamma;
        norm.beta = params.optional(&format!("{name}.beta"))?;
        Ok(norm.into())
    }

    fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        self.forward(x)
    }
}

impl Norm for RmsNorm {
    const F32_INSIDE: bool = true;

    fn build(params: &Params<'_>, name: &str) -> Result<Self, String> {
        let gamma = params.param::<1>(&format!("{name}.gamma"))?;
        let config = RmsNormConfig::new(gamma.dims()[0]).with_epsilon(EPSILON);
        let mut norm = config.init(&gamma.device());
        norm.gamma = gamma;
        Ok(norm.into())
    }

    fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        self.forward(x)
    }
}

/// No norm.
#[derive(Module, Debug)]
pub(crate) struct NoNorm;

impl Norm for NoNorm {
    fn build(_params: &Params<'_>, _name: &str) -> Result<Self, String> {
        Ok(Self)
    }

    fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        x
    }
}
