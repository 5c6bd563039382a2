//! The operations that burn does not have, as a backend extension.
//!
//! [`ops`] is the list; each backend has its file. They are called through burn's `Dispatch`, so a tensor finds its backend
//! at run time.

mod autodiff;
#[cfg(feature = "cube")]
mod cube;
#[cfg(feature = "flex")]
mod flex;
mod ops;

#[cfg(feature = "flex")]
use burn::backend::Flex;
#[cfg(any(feature = "flex", feature = "cube"))]
use burn::backend::{
    Backend, BackendTensor, DispatchKindConversion, DispatchTensor, tensor::FloatTensor,
};
use burn::backend::{Dispatch, DispatchDevice};
#[cfg(any(feature = "flex", feature = "cube"))]
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Float, Int, Tensor};
#[cfg(feature = "cube")]
use burn_cubecl::Cube;

use crate::kernel::Kernel;
use crate::nn::Windows;
use ops::GradOps;

/// Passes `x` through; in the backward pass the gradient at this place is announced as the arrival `ticket`. `anchor` is a tracked
/// tensor of any shape.
pub(crate) fn tap<const D: usize>(x: Tensor<D>, anchor: Tensor<D>, ticket: u64) -> Tensor<D> {
    let (x, anchor) = (x.into_dispatch(), anchor.into_dispatch());
    Tensor::from_dispatch(Dispatch::tap(x, anchor, ticket))
}

/// `x * scale + shift` of `x [B, T, F]` with parameters `[1, 1, F]`, or of `x [B, F, T]` with parameters `[1, F, 1]`, none of them
/// tracked; in the backward pass the gradients `[B, F]` of each example's scale and shift are announced as the arrival `ticket`.
pub(crate) fn affine(
    x: Tensor<3>,
    scale: Tensor<3>,
    shift: Tensor<3>,
    anchor: Tensor<3>,
    ticket: u64,
) -> Tensor<3> {
    let (x, anchor) = (x.into_dispatch(), anchor.into_dispatch());
    let (scale, shift) = (scale.into_dispatch(), shift.into_dispatch());
    Tensor::from_dispatch(Dispatch::affine(x, scale, shift, anchor, ticket))
}

/// A backend that has pergrad's operations.
enum Runs {
    #[cfg(feature = "flex")]
    Flex,
    #[cfg(feature = "cube")]
    Cube,
}

fn device_kind(device: &Device) -> Option<Runs> {
    match device.as_dispatch() {
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => Some(Runs::Flex),
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(_) => Some(Runs::Cube),
        _ => None,
    }
}

/// Whether the backend of a tensor has pergrad's operations, kernels too.
pub(crate) fn has_operations(x: &Tensor<2>) -> bool {
    device_kind(&x.device()).is_some()
}

/// Whether kernels compute the elements of [products](Operand::Product) about as fast as burn does. A device with units for matrices
/// does not.
pub(crate) fn products_are_cheap(device: &Device) -> bool {
    match device_kind(device) {
        #[cfg(feature = "flex")]
        Some(Runs::Flex) => true,
        _ => false,
    }
}

/// Whether kernels read matrices in half precision beside those of their dtype.
pub(crate) fn reads_half(device: &Device) -> bool {
    match device_kind(device) {
        #[cfg(feature = "cube")]
        Some(Runs::Cube) => true,
        _ => false,
    }
}

/// What a kernel reads.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // a handful of them, for a moment
pub(crate) enum Operand {
    /// `[B or 1, P or 1]`.
    Matrix(Tensor<2>),
    /// `[B, P]`, whose rows are `sum_t left[b,t] (x) right[b,t]`: the factors `[B, T, L]` and `[B, T, R]`.
    Product([Tensor<3>; 2]),
}

impl Operand {
    fn device(&self) -> Device {
        match self {
            Self::Matrix(x) => x.device(),
            Self::Product([left, _]) => left.device(),
        }
    }

    /// How many numbers are read.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::Matrix(x) => x.dims().iter().product(),
            Self::Product(factors) => {
                let elements = factors.iter().map(|x| x.dims().iter().product::<usize>());
                elements.sum()
            }
        }
    }

    /// The tensors as a backend holds them, the factors of a product side by side.
    #[cfg(any(feature = "flex", feature = "cube"))]
    fn held_by<B: Backend>(self) -> Held<FloatTensor<B>>
    where
        DispatchTensor: DispatchKindConversion<B>,
    {
        fn held<B: Backend, const D: usize>(x: Tensor<D>) -> FloatTensor<B>
        where
            DispatchTensor: DispatchKindConversion<B>,
        {
            to::<B, D, Float>(x).expect("all on one device").float()
        }
        match self {
            Self::Matrix(x) => Held::Matrix(held::<B, 2>(x)),
            Self::Product(factors) => Held::Product(factors.map(held::<B, 3>)),
        }
    }
}

/// What a kernel reads, as a backend holds it.
#[cfg(any(feature = "flex", feature = "cube"))]
#[derive(Clone, Debug)]
enum Held<X> {
    Matrix(X),
    Product([X; 2]),
}

#[cfg(feature = "cube")]
impl<X> Held<X> {
    fn map<Y>(self, mut f: impl FnMut(X) -> Y) -> Held<Y> {
        match self {
            Self::Matrix(x) => Held::Matrix(f(x)),
            Self::Product([left, right]) => Held::Product([f(left), f(right)]),
        }
    }

    fn into_vec(self) -> Vec<X> {
        match self {
            Self::Matrix(x) => vec![x],
            Self::Product([left, right]) => vec![left, right],
        }
    }
}

/// Runs a kernel over B examples and P columns, neither of them 0, of inputs of one dtype, f32 or f64, or in half precision where the
/// backend [reads](reads_half) them, on a backend that runs kernels.
pub(crate) fn run_kernel(
    kernel: &Kernel,
    scalars: &[f64],
    inputs: Vec<Operand>,
    sides: [usize; 2],
    dtype: DType,
) -> Vec<Tensor<2>> {
    match inputs.first().and_then(|it| device_kind(&it.device())) {
        #[cfg(feature = "flex")]
        Some(Runs::Flex) => {
            let inputs = inputs.into_iter().map(Operand::held_by::<Flex>).collect();
            let outputs = flex::kernel::run(kernel, scalars, inputs, sides, dtype);
            outputs.into_iter().map(from::<Flex, 2>).collect()
        }
        #[cfg(feature = "cube")]
        Some(Runs::Cube) => {
            let inputs = inputs.into_iter().map(Operand::held_by::<Cube>).collect();
            let outputs = cube::run(kernel, scalars, inputs, sides, dtype);
            outputs.into_iter().map(from::<Cube, 2>).collect()
        }
        None => unreachable!("no backend said that it runs kernels"),
    }
}

/// Whether burn has collective operations between this device and others of its kind.
pub(crate) fn has_collectives(device: &Device) -> bool {
    match device.as_dispatch() {
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(device) => device.client().has_device_transport(),
        _ => false,
    }
}

/// The windows of a convolution, `[B, C, H, W] -> [B, C kh kw, T]`, without autodiff, if the backend has an operation for it.
pub(crate) fn columns(x: &Tensor<4>, windows: &Windows) -> Option<Tensor<3>> {
    #[cfg(feature = "flex")]
    if let Some(x) = to::<Flex, 4, Float>(x.clone()) {
        return flex::columns::run(&x.float(), windows).map(from::<Flex, 3>);
    }
    let _ = (x, windows);
    None
}

/// Of `ids [B, T]` and `d [B, T, D]`: the sum of each row at its first use in the example and zeros at the others, if the backend has an
/// operation for it.
pub(crate) fn merge(ids: &Tensor<2, Int>, d: &Tensor<3>) -> Option<Tensor<3>> {
    #[cfg(feature = "flex")]
    if let (Some(ids), Some(d)) = (
        to::<Flex, 2, Int>(ids.clone()),
        to::<Flex, 3, Float>(d.clone()),
    ) {
        return flex::merge::run(&ids.int(), &d.float()).map(from::<Flex, 3>);
    }
    let _ = (ids, d);
    None
}

/// The tensor as a backend holds it, if it does.
#[cfg(any(feature = "flex", feature = "cube"))]
fn to<B: Backend, const D: usize, K: Basic>(x: Tensor<D, K>) -> Option<BackendTensor<B>>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    <DispatchTensor as DispatchKindConversion<B>>::try_into_backend(x.into_dispatch()).ok()
}

/// The tensor that a backend holds.
#[cfg(any(feature = "flex", feature = "cube"))]
fn from<B: Backend, const D: usize>(x: FloatTensor<B>) -> Tensor<D>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let x = BackendTensor::Float(x);
    Tensor::from_dispatch(<DispatchTensor as DispatchKindConversion<B>>::from_backend(
        x,
    ))
}
