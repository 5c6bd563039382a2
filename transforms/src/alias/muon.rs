//! Muon.

use crate::aggregated::{
    ScaleByMuon, add_decayed_weights, scale_by_adam, scale_by_learning_rate, scale_by_muon,
};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "muon",
    family: Family::Alias,
    summary: "batch_mean; matrices: scale_by_muon, others: scale_by_adam; [add_decayed_weights,] scale_by_learning_rate",
    reference: "Jordan et al., 2024, kellerjordan.github.io/posts/muon",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("ns_a", "3.4445"),
        Argument::optional("ns_b", "-4.775"),
        Argument::optional("ns_c", "2.0315"),
        Argument::optional("ns_steps", "5"),
        Argument::optional("beta", "0.95"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("nesterov", "true"),
        Argument::optional("adaptive", "false"),
        Argument::optional("consistent_rms", "none"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("weight_decay_mask", "all"),
        Argument::optional("adam_b1", "0.9"),
        Argument::optional("adam_b2", "0.999"),
        Argument::optional("adam_eps_root", "0"),
        Argument::optional("adam_weight_decay", "none"),
        Argument::optional("adam_learning_rate", "none"),
    ],
    build: |args| {
        let mut link = muon(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Muon. Built by [`muon`].
#[derive(Clone, Debug)]
pub struct Muon {
    learning_rate: Hyper,
    ns_a: Hyper,
    ns_b: Hyper,
    ns_c: Hyper,
    ns_steps: usize,
    beta: Hyper,
    eps: Hyper,
    nesterov: bool,
    adaptive: bool,
    consistent_rms: Option<Hyper>,
    weight_decay: Option<Hyper>,
    weight_decay_mask: Leaves,
    adam_b1: Hyper,
    adam_b2: Hyper,
    adam_eps_root: Hyper,
    adam_weight_decay: Option<Hyper>,
    adam_learning_rate: Option<Hyper>,
}

/// Momentum made orthogonal for the leaves of rank 2, Adam for all others: `chain((batch_mean(), scale_by_muon(),
/// scale_by_learning_rate(learning_rate)))` there, `chain((batch_mean(), scale_by_adam().nesterov(true),
/// scale_by_learning_rate(learning_rate)))` here, and [`add_decayed_weights`](crate::add_decayed_weights) before the learning rate where a
/// weight decay is set.
///
/// Defaults are optax's: those of [`scale_by_muon`], and adam_b1 0.9, adam_b2 0.999, adam_eps_root 0. `eps` and `nesterov` are for both.
///
/// # State
/// Both links keep their averages for all leaves.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&muon(0.1)).is_ok());
/// ```
///
/// # Reference
/// Jordan et al., 2024, kellerjordan.github.io/posts/muon.
pub fn muon(learning_rate: impl Into<Hyper>) -> Muon {
    Muon {
        learning_rate: learning_rate.into(),
        ns_a: 3.4445.into(),
        ns_b: (-4.775).into(),
        ns_c: 2.0315.into(),
        ns_steps: 5,
        beta: 0.95.into(),
        eps: 1e-8.into(),
        nesterov: true,
        adaptive: false,
        consistent_rms: None,
        weight_decay: None,
        weight_decay_mask: Leaves::All,
        adam_b1: 0.9.into(),
        adam_b2: 0.999.into(),
        adam_eps_root: 0.0.into(),
        adam_weight_decay: None,
        adam_learning_rate: None,
    }
}

impl Muon {
    hyper_setters! {
        /// The first coefficient of the iteration.
        ns_a;
        /// The second coefficient of the iteration.
        ns_b;
        /// The third coefficient of the iteration.
        ns_c;
        /// The decay of the average of the gradients of matrices.
        beta;
        /// A number added to the root.
        eps;
        /// The decay of the average of the gradients of the other leaves.
        adam_b1;
        /// The decay of the average of the squares of the other leaves.
        adam_b2;
        /// A number added under the root of the other leaves.
        adam_eps_root;
    }

    /// How many iterations.
    #[must_use]
    pub fn ns_steps(mut self, ns_steps: usize) -> Self {
        self.ns_steps = ns_steps;
        self
    }

    /// Whether the averages of the gradients look one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Whether the direction of a matrix is multiplied by its product with the average.
    #[must_use]
    pub fn adaptive(mut self, adaptive: bool) -> Self {
        self.adaptive = adaptive;
        self
    }

    /// The root mean square of the direction of a matrix, see [`scale_by_muon`].
    #[must_use]
    pub fn consistent_rms(mut self, consistent_rms: impl Into<Hyper>) -> Self {
        self.consistent_rms = Some(consistent_rms.into());
        self
    }

    /// The share of the parameters added to the update of matrices before the learning rate; none unless set.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: impl Into<Hyper>) -> Self {
        self.weight_decay = Some(weight_decay.into());
        self
    }

    /// The matrices that decay; all unless set.
    #[must_use]
    pub fn weight_decay_mask(mut self, weight_decay_mask: Leaves) -> Self {
        self.weight_decay_mask = weight_decay_mask;
        self
    }

    /// The share of the parameters added to the update of the other leaves; none unless set.
    #[must_use]
    pub fn adam_weight_decay(mut self, adam_weight_decay: impl Into<Hyper>) -> Self {
        self.adam_weight_decay = Some(adam_weight_decay.into());
        self
    }

    /// The learning rate of the other leaves; `learning_rate` unless set.
    #[must_use]
    pub fn adam_learning_rate(mut self, adam_learning_rate: impl Into<Hyper>) -> Self {
        self.adam_learning_rate = Some(adam_learning_rate.into());
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("ns_a", &mut self.ns_a)?;
        args.set_hyper("ns_b", &mut self.ns_b)?;
        args.set_hyper("ns_c", &mut self.ns_c)?;
        self.ns_steps = args.count("ns_steps")?.unwrap_or(self.ns_steps);
        args.set_hyper("beta", &mut self.beta)?;
        args.set_hyper("eps", &mut self.eps)?;
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        self.adaptive = args.flag("adaptive")?.unwrap_or(self.adaptive);
        if let Some(consistent_rms) = args.optional_hyper("consistent_rms")? {
            self.consistent_rms = Some(consistent_rms);
        }
        if let Some(weight_decay) = args.optional_hyper("weight_decay")? {
            self.weight_decay = Some(weight_decay);
        }
        if let Some(weight_decay_mask) = args.leaves("weight_decay_mask")? {
            self.weight_decay_mask = weight_decay_mask;
        }
        args.set_hyper("adam_b1", &mut self.adam_b1)?;
        args.set_hyper("adam_b2", &mut self.adam_b2)?;
        args.set_hyper("adam_eps_root", &mut self.adam_eps_root)?;
        if let Some(adam_weight_decay) = args.optional_hyper("adam_weight_decay")? {
            self.adam_weight_decay = Some(adam_weight_decay);
        }
        if let Some(adam_learning_rate) = args.optional_hyper("adam_learning_rate")? {
            self.adam_learning_rate = Some(adam_learning_rate);
        }
        Ok(())
    }

    /// The direction of matrices.
    fn direction(&self) -> ScaleByMuon {
        let direction = scale_by_muon()
            .ns_a(self.ns_a.clone())
            .ns_b(self.ns_b.clone())
            .ns_c(self.ns_c.clone())
            .ns_steps(self.ns_steps)
            .beta(self.beta.clone())
            .eps(self.eps.clone())
            .nesterov(self.nesterov)
            .adaptive(self.adaptive);
        match &self.consistent_rms {
            None => direction,
            Some(size) => direction.consistent_rms(size.or_named("consistent_rms")),
        }
    }
}

impl<In: Axis> Transform<In> for Muon {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = cx.apply(&batch_mean(), x);
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.weight_decay_mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let muon = chain((self.direction(), decay, &step));
        let matrix = cx.apply(&muon, x.clone());

        let adam = scale_by_adam()
            .b1(self.adam_b1.or_named("adam_b1"))
            .b2(self.adam_b2.or_named("adam_b2"))
            .eps(self.eps.clone())
            .eps_root(self.adam_eps_root.or_named("adam_eps_root"))
            .nesterov(self.nesterov);
        let rate = self.adam_learning_rate.as_ref();
        let rate = rate.map(|rate| scale_by_learning_rate(rate.or_named("adam_learning_rate")));
        let share = self.adam_weight_decay.as_ref();
        let share = share.map(|share| add_decayed_weights(share.or_named("adam_weight_decay")));
        let adam = chain((adam, share, rate.unwrap_or(step)));
        let other = cx.apply(&adam, x);

        let [two, three] = [2, 3].map(|rank| cx.by_shape(Leaves::RankAtLeast(rank)));
        let flat = cx.choose(&two, &matrix, &other);
        cx.choose(&three, &other, &flat)
    }
}
