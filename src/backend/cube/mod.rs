//! The CubeCL backend: CUDA, ROCm, Vulkan, Metal, WebGPU and the CPU runtime are devices of one backend.
//!
//! burn collects operations before it runs them; a kernel joins the queue as one operation of its own.

mod kernel;

use burn::backend::fusion::FusionTensor;
use burn::backend::fusion::custom::{
    CustomOpIr, HandleContainer, Operation, OperationIr, StreamId, TensorId, TensorIr,
};
use burn::backend::{ExecutionError, fusion};
use burn::tensor::{DType, Shape};
use burn_cubecl::{Cube, CubeBackend};

use super::Held;
use super::ops::{BackwardOps, GradOps};
use crate::kernel::{Code, Kernel, Reach};

impl GradOps for CubeBackend {}
impl BackwardOps for Cube {}

type Runtime = <CubeBackend as fusion::FusionBackend>::FusionRuntime;
type Handles = HandleContainer<<Runtime as fusion::FusionRuntime>::FusionHandle>;

/// Runs a kernel over B examples and P columns, neither of them 0.
pub(super) fn run(
    kernel: &Kernel,
    scalars: &[f64],
    inputs: Vec<Held<FusionTensor<Runtime>>>,
    [examples, size]: [usize; 2],
    dtype: DType,
) -> Vec<FusionTensor<Runtime>> {
    let client = match &inputs[0] {
        Held::Matrix(x) | Held::Product([x, _]) => x.client.clone(),
    };
    let inputs = inputs.into_iter();
    let inputs: Vec<Held<TensorIr>> = inputs.map(|it| it.map(FusionTensor::into_ir)).collect();
    let outputs = kernel.outputs.iter().map(|&reg| {
        let it = kernel.at(reg);
        let shape = match (it.code, it.reach) {
            (Code::OverElements(..), Reach::Column) => [examples, 1],
            (Code::OverElements(..), _) => [1, 1],
            (_, Reach::Full) => [examples, size],
            _ => [1, size],
        };
        TensorIr::uninit(client.create_empty_handle(), Shape::new(shape), dtype)
    });
    let outputs: Vec<TensorIr> = outputs.collect();
    let queued = Queued {
        kernel: kernel.clone(),
        scalars: scalars.to_vec(),
        inputs: inputs.clone(),
        outputs: outputs.iter().map(|output| output.id).collect(),
        sides: [examples, size],
        dtype,
    };
    let operation = OperationIr::Custom(CustomOpIr {
        id: "pergrad_kernel".into(),
        inputs: inputs.into_iter().flat_map(Held::into_vec).collect(),
        outputs,
        scalars: Vec::new(),
    });
    client.register(StreamId::current(), operation, queued)
}

/// A kernel in burn's queue.
#[derive(Debug)]
struct Queued {
    kernel: Kernel,
    scalars: Vec<f64>,
    inputs: Vec<Held<TensorIr>>,
    outputs: Vec<TensorId>,
    sides: [usize; 2],
    dtype: DType,
}

impl Operation<Runtime> for Queued {
    fn execute(&self, handles: &mut Handles) -> Result<(), ExecutionError> {
        let mut held = |input: TensorIr| handles.get_float_tensor::<CubeBackend>(&input);
        let inputs = self.inputs.iter().cloned();
        let inputs = inputs.map(|input| input.map(&mut held)).collect();
        let results = kernel::run(&self.kernel, &self.scalars, inputs, self.sides, self.dtype);
        for (id, result) in self.outputs.iter().zip(results) {
            handles.register_float_tensor::<CubeBackend>(id, result);
        }
        Ok(())
    }
}
