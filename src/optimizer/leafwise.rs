//! A chain in the place of one of burn's optimizers: one parameter at a time.
//!
//! burn's [`Optimizer`](burn::optim::Optimizer) trait gets one parameter with its gradient, and gives it back. A chain that [stays
//! inside a leaf](pergrad_transforms::Program::check_leafwise) can be stepped so: each parameter is then a model of one leaf, with an
//! engine of its own as its state. `adam` over three parameters is three engines; they share the program and its plan, and count their
//! steps each by itself, as burn's own optimizers do.
//!
//! The trait has no way to return an error. What can be refused is refused by [`Leafwise::new`]; a saved state that does not fit, which
//! burn hands over at the first step only, panics with the list of differences rather than starting anew in silence.

use burn::optim::LearningRate;
use burn::tensor::{Device, Tensor};
use pergrad_transforms::axis::Updates as EndsAggregated;
use pergrad_transforms::spec::DynChain;
use pergrad_transforms::{Aggregated, AxisKind, Hyper, LeafInfo, ParamTree, Program, Transform};

use super::leaf_state::LeafState;
use crate::error::Error;
use crate::exec::Settings;
use crate::exec::engine::{Engine, Wanted};
use crate::grads::form::Form;
use crate::model::{dtype, reshape};

/// The hyper-parameter that burn's learning rate takes the place of.
const LEARNING_RATE: &str = "learning_rate";
/// The path of the one leaf.
const PARAMETER: &str = "parameter";

/// An aggregated chain as one of burn's optimizers, for [`ModuleOptimizer`](burn::optim::ModuleOptimizer), its parameter groups and burn-train's loop.
///
/// The learning rate that burn gives at each step takes the place of the chain's hyper-parameter `learning_rate`, so a schedule there
/// is never asked: use burn's schedulers. All other hyper-parameters, schedules included, are the chain's, and count the steps of their
/// parameter.
///
/// State is saved by burn's records. It comes back bit-equal; a state of another chain, or of another shape, panics at the first step
/// and says what differs.
///
/// # Errors
/// [`new`](Self::new) refuses a chain with values across leaves: a global norm, a selection by path, a named input such as the loss.
/// Step the whole model with [`Optimizer::step`](crate::Optimizer::step) then; burn-train's custom step takes it too.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::optim::{GradientsParams, ModuleOptimizer};
/// use burn::tensor::{Device, Tensor};
/// use pergrad::Leafwise;
/// use pergrad::prelude::*;
///
/// let device = Device::default().autodiff();
/// let model = LinearConfig::new(3, 1).init(&device);
/// let mut optimizer: ModuleOptimizer = Leafwise::new(adamw(1e-3)).unwrap().into();
/// let loss = model.forward(Tensor::<2>::ones([8, 3], &device)).mean();
/// let grads = GradientsParams::from_grads(loss.backward(), &model);
/// let model = optimizer.step(1e-3, model, grads);
///
/// let error = Leafwise::new(chain((clip_by_global_norm(1.0), adam(1e-3)))).unwrap_err();
/// assert!(error.to_string().contains("`clip_by_global_norm` reads all leaves together"));
/// ```
#[derive(Clone, Debug)]
pub struct Leafwise {
    /// Not bound to a parameter.
    engine: Engine,
}

impl Leafwise {
    /// A chain that steps one parameter at a time.
    ///
    /// # Errors
    /// A chain with values across leaves, naming the link; one without a hyper-parameter `learning_rate`; a hyper-parameter that makes
    /// no sense.
    pub fn new<T>(chain: T) -> Result<Self, Error>
    where
        T: Transform<Aggregated>,
        T::Out: EndsAggregated,
    {
        Self::from_program(pergrad_transforms::program_over::<Aggregated, T>(&chain)?)
    }

    /// The same from a run-time chain.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and a link that needs the examples apart.
    pub fn from_dyn(chain: &DynChain) -> Result<Self, Error> {
        Self::from_program(chain.program_over(AxisKind::Aggregated)?)
    }

    fn from_program(program: Program) -> Result<Self, Error> {
        program.check_leafwise()?;
        let hypers = program.hypers();
        if !hypers.iter().any(|hyper| hyper.name == LEARNING_RATE) {
            return Err(Error::NoLearningRate {
                known: hypers.iter().map(|hyper| hyper.name.clone()).collect(),
            });
        }
        Ok(Self {
            engine: Engine::new(program),
        })
    }

    /// The same optimizer with other choices of time against memory.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.engine.settings = settings;
        self
    }

    /// The program the chain was traced into.
    pub fn program(&self) -> &Program {
        self.engine.program()
    }

    /// The engine of a parameter: as it was, as it was saved, or before its first step.
    fn engine(
        &self,
        state: Option<LeafState>,
        tree: &ParamTree,
        device: &Device,
    ) -> Result<Engine, Error> {
        let saved = match state.map(LeafState::into_engine) {
            Some(Ok(mut engine)) => {
                engine.bind(tree, device)?;
                return Ok(engine);
            }
            Some(Err(saved)) => Some(saved),
            None => None,
        };
        let mut engine = self.engine.clone();
        engine.bind(tree, device)?;
        if let Some(saved) = saved {
            let state = saved.state(engine.program(), tree)?;
            engine.load(&state)?;
        }
        Ok(engine)
    }

    /// One step of one parameter.
    fn advance<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        grad: Tensor<D>,
        state: Option<LeafState>,
    ) -> Result<(Tensor<D>, LeafState), Error> {
        let shape = parameter.dims();
        let (device, kind) = (parameter.device(), parameter.dtype());
        let tree = ParamTree::new(vec![LeafInfo {
            path: PARAMETER.to_owned(),
            shape: shape.to_vec(),
            dtype: dtype(PARAMETER, kind)?,
        }])?;
        let mut engine = self.engine(state, &tree, &device)?;
        engine.set_hyper(LEARNING_RATE, Hyper::from(rate))?;
        let size = shape.iter().product();
        let parameters = vec![reshape(parameter, [1, size])];
        let inputs = engine.inputs(Wanted::Parameters, 1, parameters, Vec::new())?;
        let outputs = engine.step(inputs, vec![Form::Dense(reshape(grad, [1, size]))]);
        let updated = outputs.outputs[0][0].clone().cast(kind);
        Ok((reshape(updated, shape), LeafState::running(engine)))
    }
}

impl burn::optim::Optimizer for Leafwise {
    type State<const D: usize> = LeafState;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let step = self.advance(lr, tensor, grad, state);
        let (tensor, state) = step.unwrap_or_else(|error| panic!("{error}"));
        (tensor, Some(state))
    }

    /// The next step brings it to the device of the parameter.
    fn to_device<const D: usize>(state: Self::State<D>, _device: &Device) -> Self::State<D> {
        state
    }
}
