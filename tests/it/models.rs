//! Small models and data for the tests.

use burn::module::Module;
use burn::nn::LinearConfig;
use burn::tensor::activation::tanh;
use burn::tensor::{DType, Device, Distribution, Tensor};
use pergrad::nn::Linear;

/// Relative and absolute tolerance for comparing with an f64 oracle that computes in another order: a few hundred roundings of
/// f32 (6e-8 each) or f64 (1e-16 each).
pub(crate) fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-12,
        _ => 2e-5,
    }
}

pub(crate) fn device() -> Device {
    Device::default().autodiff()
}

#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) first: Linear,
    pub(crate) second: Linear,
}

impl Mlp {
    pub(crate) fn new(inputs: usize, hidden: usize, outputs: usize, device: &Device) -> Self {
        Self {
            first: Linear::new(&LinearConfig::new(inputs, hidden), device),
            second: Linear::new(&LinearConfig::new(hidden, outputs), device),
        }
    }

    pub(crate) fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        self.second.forward(tanh(self.first.forward(x)))
    }

    /// Half the squared length of the output, for each example.
    pub(crate) fn losses<const D: usize>(&self, x: Tensor<D>) -> Tensor<1> {
        per_example_loss(self.forward(x))
    }
}

/// Half the sum of squares of everything but axis 0.
pub(crate) fn per_example_loss<const D: usize>(y: Tensor<D>) -> Tensor<1> {
    let examples = y.dims()[0];
    let size: usize = y.dims()[1..].iter().product();
    let y = y.reshape([examples, size]);
    (y.clone() * y)
        .sum_dim(1)
        .mul_scalar(0.5)
        .reshape([examples])
}

/// Parameters cast to a dtype, still trained.
pub(crate) fn cast<M: Module>(model: M, dtype: DType) -> M {
    struct Cast(DType);
    impl burn::module::ModuleMapper for Cast {
        fn map_float<const D: usize>(
            &mut self,
            param: burn::module::Param<Tensor<D>>,
        ) -> burn::module::Param<Tensor<D>> {
            let id = param.id;
            let value = param.val().inner().cast(self.0).autodiff().require_grad();
            burn::module::Param::initialized(id, value)
        }
    }
    model.map(&mut Cast(dtype))
}

pub(crate) fn random<const D: usize>(
    shape: [usize; D],
    dtype: DType,
    device: &Device,
) -> Tensor<D> {
    Tensor::<D>::random(shape, Distribution::Normal(0.0, 1.0), device).cast(dtype)
}

/// The elements as f64, row-major.
pub(crate) fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().convert::<f64>().try_to_vec().unwrap()
}

/// Compares with an oracle, relative to its largest element.
#[track_caller]
pub(crate) fn assert_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_close_above(got, want, tolerance, 1e-30);
}

/// Compares with an oracle, relative to its largest element or to `floor`, the size of the numbers that may have cancelled.
#[track_caller]
pub(crate) fn assert_close_above(got: &[f64], want: &[f64], tolerance: f64, floor: f64) {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(floor, |m, x| m.max(x.abs()));
    for (at, (x, y)) in got.iter().zip(want).enumerate() {
        let fits = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * scale;
        assert!(
            fits,
            "at {at}: got {x}, want {y} (scale {scale:e}, tolerance {tolerance:e})"
        );
    }
}

/// Numbers that depend on the seed alone: burn's generator is shared by all tests of the process.
pub(crate) fn fixed<const D: usize>(
    shape: [usize; D],
    seed: usize,
    dtype: DType,
    device: &Device,
) -> Tensor<D> {
    let number = |at: usize| ((at * 7919 + seed * 104_729 + 17) % 2003) as f32 / 1001.5 - 1.0;
    let numbers: Vec<f32> = (0..shape.iter().product()).map(number).collect();
    let data = burn::tensor::TensorData::new(numbers, shape);
    Tensor::<D>::from_data(data, device).cast(dtype)
}
