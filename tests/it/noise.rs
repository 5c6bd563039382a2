//! Random numbers on burn are those of the reference, go on after a save, and differ from leaf to leaf.

use burn::module::{Module, Param};
use burn::tensor::{DType, Tensor};
use pergrad::prelude::*;
use pergrad::transforms::reference::Reference;
use pergrad::transforms::runner::{HostTensor, Runner, StepInput};
use pergrad::transforms::{Dtype, LeafInfo, ParamTree};
use pergrad::{Leafwise, Optimizer, PerExampleGrads};

use crate::models::{assert_close, device, numbers, tolerance};

#[derive(Module, Debug)]
struct Two {
    a: Param<Tensor<2>>,
    b: Param<Tensor<1>>,
}

/// Sizes that end in the middle of a pair and of what one thread makes.
const A: [usize; 2] = [97, 101];
const B: usize = 9797;

fn two(dtype: DType) -> Two {
    let device = &device();
    Two {
        a: Param::from_tensor(Tensor::zeros(A, (device, dtype)).require_grad()),
        b: Param::from_tensor(Tensor::zeros([B], (device, dtype)).require_grad()),
    }
}

fn grads(dtype: DType) -> PerExampleGrads {
    let device = &device();
    let a = Tensor::<3>::zeros([3, A[0], A[1]], (device, dtype));
    let b = Tensor::<2>::zeros([3, B], (device, dtype));
    let builder = PerExampleGrads::builder().leaf("a", a).leaf("b", b);
    builder.build().unwrap()
}

fn noisy() -> impl pergrad::transforms::Transform<
    pergrad::transforms::PerExample,
    Out = pergrad::transforms::Aggregated,
> {
    chain((mean(), add_noise(0.5, 0.5, Seed::from(7)), scale(-1.0)))
}

fn updates(optimizer: &mut Optimizer, model: &Two, dtype: DType) -> [Vec<f64>; 2] {
    let updates = optimizer.update(model, &grads(dtype)).unwrap();
    let a = numbers(updates.leaf::<2>("a").unwrap());
    [a, numbers(updates.leaf::<1>("b").unwrap())]
}

#[test]
fn noise_on_burn_is_that_of_the_reference_and_another_one_at_each_step_and_leaf() {
    for dtype in [DType::F32, DType::F64] {
        let model = two(dtype);
        let mut optimizer = Optimizer::new(noisy()).unwrap();
        let leaf = |path: &str, shape: &[usize]| LeafInfo {
            path: path.to_owned(),
            shape: shape.to_vec(),
            dtype: Dtype::F64,
        };
        let tree = ParamTree::new(vec![leaf("a", &A), leaf("b", &[B])]).unwrap();
        let program = optimizer_program(&noisy()).unwrap();
        let mut reference = Reference::<f64>::new(&program, &tree).unwrap();
        let mut input = StepInput::default();
        for (path, shape) in [("a", &A[..]), ("b", &[B][..])] {
            let zeros = vec![0.0; 3 * B];
            let batch: Vec<usize> = [&[3], shape].concat();
            let of =
                |shape: &[usize], n: usize| HostTensor::new(shape.to_vec(), zeros[..n].to_vec());
            input.grads.insert(path.into(), of(&batch, 3 * B));
            input.params.insert(path.into(), of(shape, B));
        }
        let mut last = Vec::new();
        for _ in 0..3 {
            let [a, b] = updates(&mut optimizer, &model, dtype);
            let expected = reference.step(&input).unwrap().updates;
            assert_close(&a, &expected["a"].values, tolerance(dtype));
            assert_close(&b, &expected["b"].values, tolerance(dtype));
            assert_ne!(a, b, "leaves have noise of their own");
            assert_ne!(a, last, "steps have noise of their own");
            last = a;
        }
    }
}

#[test]
fn noise_goes_on_after_a_save_as_if_nothing_had_happened() {
    let model = two(DType::F32);
    let mut optimizer = Optimizer::new(noisy()).unwrap();
    updates(&mut optimizer, &model, DType::F32);
    let state = optimizer.state(&model).unwrap();
    let mut again = Optimizer::new(noisy()).unwrap();
    again.load(&model, &state).unwrap();
    let next = updates(&mut optimizer, &model, DType::F32);
    assert_eq!(updates(&mut again, &model, DType::F32), next);
}

#[test]
fn one_parameter_at_a_time_has_no_noise_of_its_own() {
    let error = Leafwise::new(chain((add_noise(0.1, 0.5, Seed::from(7)), sgd(0.1)))).unwrap_err();
    insta::assert_snapshot!(error, @"`add_noise` draws random numbers, other ones for each leaf, but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step");
}
