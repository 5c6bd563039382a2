//! Every layer: against one example at a time, against burn's layer of the same name, and through records.
//!
//! One example at a time runs outside a capture, where a layer is burn's, so burn's forward and backward passes are the oracle.

mod channel_norms;
mod composed;
mod conv1d;
mod conv2d;
mod conv_transpose2d;
mod embedding;
mod norms;
mod prelu;
mod recurrent;
mod scale;
mod transformer;

use burn::module::{Module, ModuleDisplay, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Gradients, Int, Tensor};
use pergrad::nn::Scale;
use pergrad::{check_per_example_grads, per_example_grads};

use crate::models::{assert_close, device, numbers, random};

/// Relative to the largest element of a leaf. A few thousand roundings of f32 (6e-8 each); f64 with room for the root mean
/// squares that burn takes in f32.
pub(crate) fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-10,
        _ => 5e-5,
    }
}

/// A layer behind a scale, so that the gradient at the layer's input is checked as well.
#[derive(Module, Debug)]
pub(crate) struct Behind<M> {
    pub(crate) scale: Scale,
    pub(crate) layer: M,
}

/// One loss for each example, with another gradient at every element of `y`.
pub(crate) fn losses<const D: usize>(y: Tensor<D>) -> Tensor<1> {
    let examples = y.dims()[0];
    let size: usize = y.dims()[1..].iter().product();
    let y = y.reshape([examples, size]);
    let slopes = Tensor::<1, Int>::arange(0..size as i64, &y.device());
    let slopes = slopes.float().cast(y.dtype()).cos().unsqueeze();
    let losses = y.clone() * slopes + (y.clone() * y).mul_scalar(0.5);
    losses.sum_dim(1).reshape([examples])
}

/// Trained parameters replaced by normal ones of a dtype; the others are cast.
pub(crate) fn randomized<M: Module>(model: M, dtype: DType) -> M {
    struct Randomize(DType);
    impl ModuleMapper for Randomize {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let value = if param.is_require_grad() {
                random(param.dims(), self.0, &device()).require_grad()
            } else {
                param.val().cast(self.0)
            };
            Param::initialized(param.id, value)
        }
    }
    model.map(&mut Randomize(dtype))
}

/// All parameters but the one at a position, which is frozen.
fn frozen_at<M: Module>(model: M, position: usize) -> M {
    struct Freeze {
        position: usize,
        seen: usize,
    }
    impl ModuleMapper for Freeze {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let trained = param.is_require_grad() && self.seen != self.position;
            self.seen += 1;
            param.set_require_grad(trained)
        }
    }
    model.map(&mut Freeze { position, seen: 0 })
}

/// Captured equals one example at a time: in f64 and f32, for one example and for three, with everything trained and with each
/// parameter frozen in turn. `shape` is the input's; its first number is replaced.
#[track_caller]
pub(crate) fn holds<M: Module + ModuleDisplay, const D: usize, const E: usize>(
    layer: M,
    shape: [usize; D],
    forward: impl Fn(&M, Tensor<D>) -> Tensor<E>,
) {
    let scale = Scale::new(shape[D - 1], &device());
    let model = Behind { scale, layer };
    for (dtype, examples) in [
        (DType::F64, 1),
        (DType::F64, 3),
        (DType::F32, 1),
        (DType::F32, 3),
    ] {
        let model = randomized(model.clone(), dtype);
        let mut shape = shape;
        shape[0] = examples;
        let x = random(shape, dtype, &device());
        let losses = |m: &Behind<M>, b: std::ops::Range<usize>| {
            losses(forward(&m.layer, m.scale.forward(x.clone().slice([b]))))
        };
        check_per_example_grads(&model, examples, losses, tolerance(dtype)).unwrap();
        if dtype == DType::F64 && examples == 3 {
            let positions = parameters(&model).len();
            for position in 0..if positions > 1 { positions } else { 0 } {
                let model = frozen_at(model.clone(), position);
                check_per_example_grads(&model, examples, losses, tolerance(dtype)).unwrap();
            }
        }
    }
}

/// The parameters by their paths.
pub(crate) fn parameters<M: Module>(model: &M) -> Vec<(String, Vec<f64>)> {
    visit(model, None)
}

fn gradients<M: Module>(model: &M, grads: &Gradients) -> Vec<(String, Vec<f64>)> {
    visit(model, Some(grads))
}

/// The parameters, or their gradients: zeros where there is none, left out where the parameter is frozen.
fn visit<M: Module>(model: &M, grads: Option<&Gradients>) -> Vec<(String, Vec<f64>)> {
    struct Visit<'a> {
        path: Vec<String>,
        grads: Option<&'a Gradients>,
        found: Vec<(String, Vec<f64>)>,
    }
    impl ModuleVisitor for Visit<'_> {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            let value = match self.grads {
                None => value.inner(),
                Some(_) if !param.is_require_grad() => return,
                Some(grads) => value
                    .grad(grads)
                    .unwrap_or_else(|| value.inner().zeros_like()),
            };
            self.found.push((self.path.join("."), numbers(value)));
        }
    }
    let mut visitor = Visit {
        path: Vec::new(),
        grads,
        found: Vec::new(),
    };
    model.visit(&mut visitor);
    visitor.found
}

/// Differences relative to the largest element of all leaves: some gradients are zero by symmetry, and only roundings are left.
#[track_caller]
fn same(got: &[(String, Vec<f64>)], want: &[(String, Vec<f64>)], tolerance: f64) {
    let all = want.iter().flat_map(|(_, leaf)| leaf);
    let scale = all.fold(1e-30_f64, |m, x| m.max(x.abs()));
    assert_eq!(got.len(), want.len());
    for ((path, got), (known, want)) in got.iter().zip(want) {
        assert_eq!((path, got.len()), (known, want.len()));
        for (x, y) in got.iter().zip(want) {
            let fits = (x - y).abs() <= tolerance * scale;
            assert!(fits, "{path}: got {x}, want {y} (scale {scale:e})");
        }
    }
}

/// Outside a capture the layer is burn's, forward and backward; inside, its losses are burn's and its gradients add up to burn's;
/// conversions lose nothing; burn's records load, and ours load into burn's.
#[track_caller]
pub(crate) fn is_burns<N, M, const D: usize, const E: usize>(
    burn: N,
    x: Tensor<D>,
    theirs: impl Fn(&N, Tensor<D>) -> Tensor<E>,
    ours: impl Fn(&M, Tensor<D>) -> Tensor<E>,
) where
    N: Module + From<M> + std::fmt::Display,
    M: Module + From<N>,
{
    let burn = randomized(burn, DType::F32);
    let layer = M::from(burn.clone());

    let x = x.require_grad();
    let (y, z) = (theirs(&burn, x.clone()), ours(&layer, x.clone()));
    assert_close(
        &numbers(z.clone().inner()),
        &numbers(y.clone().inner()),
        1e-6,
    );
    let known_losses = losses(y);
    let known = known_losses.clone().sum().backward();
    let grads = losses(z).sum().backward();
    let at_input = [&grads, &known].map(|g| x.grad(g).map(numbers).unwrap_or_default());
    assert_close(&at_input[0], &at_input[1], 1e-5);
    let known = gradients(&burn, &known);
    same(&gradients(&layer, &grads), &known, 1e-5);

    let (captured, grads) = per_example_grads(&layer, |m| losses(ours(m, x.clone()))).unwrap();
    assert_close(&numbers(captured), &numbers(known_losses.inner()), 1e-5);
    let sums = grads.paths().map(|path| {
        let dense = grads.form(path).unwrap().clone().into_dense();
        (path.to_owned(), numbers(dense.sum_dim(0)))
    });
    same(&sums.collect::<Vec<_>>(), &known, tolerance(DType::F32));

    let back = N::from(layer.clone());
    assert_eq!(back.to_string(), burn.to_string());
    same(&parameters(&back), &parameters(&burn), 0.0);
    let other = randomized(layer.clone(), DType::F32);
    let loaded = other.clone().load_record(burn.clone().into_record());
    same(&parameters(&loaded), &parameters(&burn), 0.0);
    let loaded = burn.load_record(other.clone().into_record());
    same(&parameters(&loaded), &parameters(&other), 0.0);
}
