//! Capture and step in one: the statistics of each leaf are taken within the backward pass.

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Extras, Optimizer, Rejected, Updates};
use crate::capture::pass::{self, Receive, Tokens};
use crate::error::Error;
use crate::exec::engine::Wanted;
use crate::exec::portable::Run;
use crate::grads::form::Form;
use crate::model::{self, ModelLeaves};

impl Receive for Run {
    fn leaf(&mut self, at: usize, form: Form) {
        Self::leaf(self, at, form);
    }
}

impl Optimizer {
    /// [`per_example_grads`](crate::per_example_grads) and [`step`](Self::step) in one, without holding the gradients of all leaves: the
    /// losses `[B]` and the new model.
    ///
    /// As soon as the gradients of a leaf are complete, within the backward pass, the chain takes of them what it can, and lets them
    /// go if it needs nothing else: a chain whose values stay within a leaf (`micro_adam`, `sign_ema`) never holds the gradients of
    /// two leaves at once, and one that needs a norm over all leaves holds them (in factors) until it knows the norm.
    ///
    /// The price: what is wrong with a model may show only at the end of the pass, so the old parameters and the old state are kept
    /// until then, while [`step`](Self::step) overwrites them in place. Where they outweigh the factors, as with Adam on a
    /// large model and a small batch, capture and step apart.
    ///
    /// # Errors
    /// What both say; [`Rejected`] gives the model back, and nothing has changed.
    ///
    /// # Example
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pergrad::prelude::*;
    /// use pergrad::{Optimizer, nn::Linear};
    ///
    /// let device = Device::default().autodiff();
    /// let mut model = Linear::new(&LinearConfig::new(3, 1), &device);
    /// let mut optimizer = Optimizer::new(micro_adam(0.1)).unwrap();
    /// let x = Tensor::<2>::random([8, 3], Distribution::Default, &device);
    /// for _ in 0..3 {
    ///     let losses;
    ///     (losses, model) = optimizer
    ///         .step_on(model, |m| {
    ///             let y = m.forward(x.clone());
    ///             (y.clone() * y).flatten(0, 1)
    ///         })
    ///         .unwrap();
    ///     assert_eq!(losses.dims(), [8]);
    /// }
    /// ```
    #[allow(clippy::type_complexity)]
    pub fn step_on<M: Module>(
        &mut self,
        model: M,
        losses: impl FnOnce(&M) -> Tensor<1>,
    ) -> Result<(Tensor<1>, M), Box<Rejected<M, ()>>> {
        let leaves = match ModelLeaves::of(&model) {
            Ok(leaves) => leaves,
            Err(error) => return Err(Rejected::new(error, model, ())),
        };
        match self.run_on(&model, &leaves, losses, &Extras::new(), Wanted::Parameters) {
            Ok((losses, rows)) => {
                let (emptied, _) = model::take_rows(model, &leaves);
                Ok((losses, emptied.fill(rows.into_iter().map(Some).collect())))
            }
            Err(error) => Err(Rejected::new(error, model, ())),
        }
    }

    /// The losses `[B]` and the updates, without applying them, with the named inputs that the chain reads; the state of the
    /// optimizer advances.
    ///
    /// # Errors
    /// What [`per_example_grads`](crate::per_example_grads) and [`update_with`](Self::update_with) say; then nothing has changed.
    pub fn update_on<M: Module>(
        &mut self,
        model: &M,
        losses: impl FnOnce(&M) -> Tensor<1>,
        extras: &Extras,
    ) -> Result<(Tensor<1>, Updates), Error> {
        let leaves = ModelLeaves::of(model)?;
        let (losses, rows) = self.run_on(model, &leaves, losses, extras, Wanted::Updates)?;
        Ok((losses, Updates::new(leaves, rows)))
    }

    fn run_on<M: Module>(
        &mut self,
        model: &M,
        leaves: &ModelLeaves,
        losses: impl FnOnce(&M) -> Tensor<1>,
        extras: &Extras,
        wanted: Wanted,
    ) -> Result<(Tensor<1>, Vec<Tensor<2>>), Error> {
        let params = self.bind(model, leaves)?;
        let begin = |examples: usize| {
            let inputs = self.inputs(wanted, examples, params, extras)?;
            Ok(self.engine.begin(inputs))
        };
        let (losses, run) = pass::run(model, leaves, Tokens::Joined, losses, begin)?;
        let outputs = self.engine.commit(run);
        Ok((losses, self.publish(outputs)))
    }
}
