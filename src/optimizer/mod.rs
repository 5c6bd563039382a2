//! The optimizer: a chain with its state, stepping a burn model.

mod accumulated;
mod extras;
mod inspect;
mod leaf_state;
mod leafwise;
mod record;
mod rejected;
mod saving;
mod streamed;
mod updates;

use std::collections::BTreeMap;
use std::marker::PhantomData;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use pergrad_transforms::axis::Updates as EndsAggregated;
use pergrad_transforms::{Aggregated, Axis, PerExample, Program, Transform};

pub use accumulated::Accumulated;
pub use extras::Extras;
pub use leaf_state::LeafState;
pub use leafwise::Leafwise;
pub use record::Record;
pub use rejected::Rejected;
pub use updates::Updates;

use crate::error::Error;
use crate::exec::Settings;
use crate::exec::engine::{Engine, Wanted};
use crate::exec::portable::{Inputs, Outputs};
use crate::grads::form::Form;
use crate::grads::{self, PerExampleGrads};
use crate::model::{self, ModelLeaves};

/// A chain with its state. `In` says which gradients it takes.
///
/// The chain is traced once, when the optimizer is made; it is bound to the leaves of the model at the first step. A step checks
/// everything before it changes anything: on an error, model, gradients and state are as before. It makes no host
/// synchronisation.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::prelude::*;
/// use pergrad::{Optimizer, nn::Linear, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let mut model = Linear::new(&LinearConfig::new(3, 1), &device);
/// let mut optimizer = Optimizer::new(chain((clip_per_example(1.0), adam(0.1)))).unwrap();
/// let x = Tensor::<2>::random([8, 3], Distribution::Default, &device);
/// for _ in 0..3 {
///     let (_, grads) = per_example_grads(&model, |m| {
///         let y = m.forward(x.clone());
///         (y.clone() * y).flatten(0, 1)
///     })
///     .unwrap();
///     model = optimizer.step(model, grads).unwrap();
/// }
/// assert_eq!(optimizer.steps_taken(), 3);
/// ```
///
/// A chain that ends with the examples apart is not an optimizer:
/// ```compile_fail,E0277
/// use pergrad::prelude::*;
/// let _ = pergrad::Optimizer::new(chain((sign(), clip_per_example(1.0))));
/// ```
#[derive(Clone, Debug)]
pub struct Optimizer<In = PerExample> {
    engine: Engine,
    metrics: BTreeMap<String, Vec<Tensor<2>>>,
    input: PhantomData<In>,
}

impl Optimizer<PerExample> {
    /// An optimizer over per-example gradients.
    ///
    /// # Errors
    /// A hyper-parameter that makes no sense, by name.
    pub fn new<T>(chain: T) -> Result<Self, Error>
    where
        T: Transform<PerExample>,
        T::Out: EndsAggregated,
    {
        let program = pergrad_transforms::optimizer_program(&chain)?;
        Ok(Self::from_program(program))
    }

    /// An optimizer from a run-time chain.
    ///
    /// # Errors
    /// A wrong order of links, a chain that ends with the examples apart, or a hyper-parameter that makes no sense.
    ///
    /// # Example
    /// ```
    /// use pergrad::transforms::spec::{Catalogue, ChainSpec};
    /// let spec: ChainSpec = serde_json::from_str(r#"["sign", "mean", {"link": "scale", "step_size": -0.1}]"#).unwrap();
    /// let chain = Catalogue::standard().build(&spec).unwrap();
    /// assert!(pergrad::Optimizer::from_dyn(&chain).is_ok());
    /// ```
    pub fn from_dyn(chain: &pergrad_transforms::spec::DynChain) -> Result<Self, Error> {
        Ok(Self::from_program(chain.optimizer_program()?))
    }

    /// The new model. See [`step_with`](Self::step_with) for chains that read named inputs.
    ///
    /// # Errors
    /// Gradients that do not fit the model, or a batch that is too small; [`Rejected`] gives model and gradients back.
    #[allow(clippy::type_complexity)]
    pub fn step<M: Module>(
        &mut self,
        model: M,
        grads: PerExampleGrads,
    ) -> Result<M, Box<Rejected<M, PerExampleGrads>>> {
        self.step_with(model, grads, &Extras::new())
    }

    /// The new model, with the named inputs that the chain reads.
    ///
    /// # Errors
    /// Gradients or inputs that do not fit; [`Rejected`] gives model and gradients back.
    #[allow(clippy::type_complexity)]
    pub fn step_with<M: Module>(
        &mut self,
        model: M,
        grads: PerExampleGrads,
        extras: &Extras,
    ) -> Result<M, Box<Rejected<M, PerExampleGrads>>> {
        let forms = |leaves: &ModelLeaves| grads.forms_for(leaves);
        let wanted = Wanted::Parameters;
        match self.prepare(&model, grads.examples(), forms, extras, wanted) {
            Ok(prepared) => {
                // From here on only the forms hold the factors, which are freed leaf by leaf.
                drop(grads);
                Ok(self.replace(model, prepared))
            }
            Err(error) => Err(Rejected::new(error, model, grads)),
        }
    }

    /// The updates, without applying them; the state of the optimizer advances.
    ///
    /// # Errors
    /// Gradients that do not fit the model, or a batch that is too small; then nothing has changed.
    pub fn update<M: Module>(
        &mut self,
        model: &M,
        grads: &PerExampleGrads,
    ) -> Result<Updates, Error> {
        self.update_with(model, grads, &Extras::new())
    }

    /// The updates, with the named inputs that the chain reads.
    ///
    /// # Errors
    /// Gradients or inputs that do not fit; then nothing has changed.
    pub fn update_with<M: Module>(
        &mut self,
        model: &M,
        grads: &PerExampleGrads,
        extras: &Extras,
    ) -> Result<Updates, Error> {
        let forms = |leaves: &ModelLeaves| grads.forms_for(leaves);
        self.advance(model, grads.examples(), forms, extras)
    }
}

impl Optimizer<Aggregated> {
    /// An optimizer over ordinary, aggregated gradients.
    ///
    /// # Errors
    /// A hyper-parameter that makes no sense, by name.
    ///
    /// # Example
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::optim::GradientsParams;
    /// use burn::tensor::{Device, Tensor};
    /// use pergrad::prelude::*;
    ///
    /// let device = Device::default().autodiff();
    /// let model = LinearConfig::new(3, 1).init(&device); // any burn model
    /// let loss = model.forward(Tensor::<2>::ones([8, 3], &device)).mean();
    /// let grads = GradientsParams::from_grads(loss.backward(), &model);
    /// let mut optimizer = pergrad::Optimizer::aggregated(adam(0.1)).unwrap();
    /// let model = optimizer.step(model, grads).unwrap();
    /// ```
    pub fn aggregated<T>(chain: T) -> Result<Self, Error>
    where
        T: Transform<Aggregated>,
        T::Out: EndsAggregated,
    {
        let program = pergrad_transforms::program_over::<Aggregated, T>(&chain)?;
        Ok(Self::from_program(program))
    }

    /// An optimizer over ordinary gradients from a run-time chain.
    ///
    /// # Errors
    /// A link that needs the examples apart, or a hyper-parameter that makes no sense.
    pub fn aggregated_from_dyn(chain: &pergrad_transforms::spec::DynChain) -> Result<Self, Error> {
        let program = chain.program_over(pergrad_transforms::AxisKind::Aggregated)?;
        Ok(Self::from_program(program))
    }

    /// The new model. The gradients are burn's.
    ///
    /// # Errors
    /// Gradients that do not fit the model; [`Rejected`] gives model and gradients back.
    #[allow(clippy::type_complexity)]
    pub fn step<M: Module>(
        &mut self,
        model: M,
        grads: GradientsParams,
    ) -> Result<M, Box<Rejected<M, GradientsParams>>> {
        let forms = |leaves: &ModelLeaves| aggregated_forms(&model, leaves, &grads);
        match self.prepare(&model, 1, forms, &Extras::new(), Wanted::Parameters) {
            Ok(prepared) => {
                drop(grads);
                Ok(self.replace(model, prepared))
            }
            Err(error) => Err(Rejected::new(error, model, grads)),
        }
    }

    /// The updates, with the named inputs that the chain reads; the state of the optimizer advances.
    ///
    /// # Errors
    /// Gradients or inputs that do not fit; then nothing has changed.
    pub fn update_with<M: Module>(
        &mut self,
        model: &M,
        grads: &GradientsParams,
        extras: &Extras,
    ) -> Result<Updates, Error> {
        let forms = |leaves: &ModelLeaves| aggregated_forms(model, leaves, grads);
        self.advance(model, 1, forms, extras)
    }
}

/// A step that cannot fail any more.
struct Prepared {
    leaves: ModelLeaves,
    forms: Vec<Form>,
    inputs: Inputs,
}

fn aggregated_forms<M: Module>(
    model: &M,
    leaves: &ModelLeaves,
    grads: &GradientsParams,
) -> Result<Vec<Form>, Error> {
    let rows = grads::aggregated_rows(model, leaves, grads)?;
    Ok(rows.into_iter().map(Form::Dense).collect())
}

impl<In: Axis> Optimizer<In> {
    fn from_program(program: Program) -> Self {
        Self {
            engine: Engine::new(program),
            metrics: BTreeMap::new(),
            input: PhantomData,
        }
    }

    /// The same optimizer with other choices of time against memory.
    ///
    /// # Example
    /// ```
    /// use pergrad::prelude::*;
    /// use pergrad::{NormMethod, Optimizer, Settings};
    ///
    /// let settings = Settings::default().norm_method(NormMethod::Ghost).memory_budget(16 << 20);
    /// let optimizer = Optimizer::new(chain((clip_per_example(1.0), adam(0.1)))).unwrap().with_settings(settings);
    /// assert_eq!(optimizer.settings().norm_method, NormMethod::Ghost);
    /// ```
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.engine.settings = settings;
        self
    }

    /// The choices of time against memory.
    pub fn settings(&self) -> Settings {
        self.engine.settings
    }

    fn advance<M: Module>(
        &mut self,
        model: &M,
        examples: usize,
        forms: impl FnOnce(&ModelLeaves) -> Result<Vec<Form>, Error>,
        extras: &Extras,
    ) -> Result<Updates, Error> {
        let prepared = self.prepare(model, examples, forms, extras, Wanted::Updates)?;
        let outputs = self.engine.step(prepared.inputs, prepared.forms);
        Ok(Updates::new(prepared.leaves, self.publish(outputs)))
    }

    /// Everything of a step that can fail.
    fn prepare<M: Module>(
        &mut self,
        model: &M,
        examples: usize,
        forms: impl FnOnce(&ModelLeaves) -> Result<Vec<Form>, Error>,
        extras: &Extras,
        wanted: Wanted,
    ) -> Result<Prepared, Error> {
        let leaves = ModelLeaves::of(model)?;
        let forms = forms(&leaves)?;
        let params = self.bind(model, &leaves)?;
        let inputs = self.inputs(wanted, examples, params, extras)?;
        Ok(Prepared {
            leaves,
            forms,
            inputs,
        })
    }

    /// What a step reads, once the optimizer is bound to the model.
    fn inputs(
        &self,
        wanted: Wanted,
        examples: usize,
        params: Vec<Tensor<2>>,
        extras: &Extras,
    ) -> Result<Inputs, Error> {
        let device = params[0].device();
        let extras = extras.matrices(self.engine.program_of(wanted)?, examples, &device)?;
        self.engine.inputs(wanted, examples, params, extras)
    }

    /// The model after a step. Its parameters are taken out of it, so that the new ones may take their place in memory.
    fn replace<M: Module>(&mut self, model: M, prepared: Prepared) -> M {
        self.replace_by(model, prepared, Engine::step)
    }

    fn replace_by<M: Module>(
        &mut self,
        model: M,
        mut prepared: Prepared,
        step: impl FnOnce(&mut Engine, Inputs, Vec<Form>) -> Outputs,
    ) -> M {
        prepared.inputs.params.clear();
        let (emptied, params) = model::take_rows(model, &prepared.leaves);
        let params = params
            .into_iter()
            .map(|p| p.expect("the leaves are of this model"));
        prepared.inputs.params = params.collect();
        let outputs = step(&mut self.engine, prepared.inputs, prepared.forms);
        emptied.fill(self.publish(outputs).into_iter().map(Some).collect())
    }

    /// Keeps the metrics of a step and gives out what it has for each leaf.
    fn publish(&mut self, outputs: Outputs) -> Vec<Tensor<2>> {
        let mut metrics = outputs.names.into_iter().zip(outputs.outputs);
        let (_, updates) = metrics.next().expect("a program has updates");
        self.metrics = metrics.collect();
        updates
    }

    /// Binds to the leaves of the model and gives out their values.
    fn bind<M: Module>(
        &mut self,
        model: &M,
        leaves: &ModelLeaves,
    ) -> Result<Vec<Tensor<2>>, Error> {
        let params = model::rows(model, leaves);
        let device = params.first().ok_or(Error::NothingTrained)?.device();
        self.engine.bind(&leaves.tree, &device)?;
        Ok(params)
    }
}
