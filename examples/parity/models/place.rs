//! Where a model computes: the dtype, and the device.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use pergrad::transforms::Dtype;
use pergrad::transforms::runner::HostTensor;

/// A dtype on burn's CPU backend, with autodiff.
#[derive(Debug)]
pub(crate) struct Place {
    dtype: DType,
    pub(crate) device: Device,
}

impl Place {
    pub(crate) fn new(dtype: Dtype) -> Self {
        Self {
            dtype: match dtype {
                Dtype::F32 => DType::F32,
                _ => DType::F64,
            },
            device: Device::flex().autodiff(),
        }
    }

    pub(crate) fn tensor<const D: usize>(&self, x: &HostTensor) -> Tensor<D> {
        let data = TensorData::new(x.values.clone(), x.shape.clone()).convert_dtype(self.dtype);
        Tensor::from_data(data, (&self.device, self.dtype))
    }

    /// Whole numbers, as indices.
    #[allow(clippy::cast_possible_truncation)] // the files have small whole numbers here
    pub(crate) fn indices<const D: usize>(&self, x: &HostTensor) -> Tensor<D, Int> {
        let values: Vec<i64> = x.values.iter().map(|&x| x as i64).collect();
        let data = TensorData::new(values, x.shape.clone());
        Tensor::from_data(data, &self.device)
    }
}

/// Back to the host.
pub(crate) fn host<const D: usize>(x: Tensor<D>) -> Result<HostTensor, String> {
    let shape = x.dims();
    let values = x.into_data().convert::<f64>().try_to_vec::<f64>();
    Ok(HostTensor::new(
        shape,
        values.map_err(|e| format!("{e:?}"))?,
    ))
}
