//! The optimizers that are compared.

use pergrad::Optimizer;
use pergrad::prelude::{
    Hyper, Leaves, adamw, add_scalar, chain, ema, mean, monitor, reciprocal, reduce_interference,
    sgd, sqrt, square,
};

/// The optimizer whose update is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Gradient descent with a momentum of 0.9.
    Sgd,
    /// AdamW.
    AdamW,
}

impl Base {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sgd, Self::AdamW];

    /// How it is called in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd => "SGD, momentum",
            Self::AdamW => "AdamW",
        }
    }
}

/// What is done to the update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// Whose update.
    pub base: Base,
    /// The bound on how far it is moved; 0 leaves it, to the last bit.
    pub lambda: f64,
    /// How often the solver steps.
    pub iterations: usize,
    /// Whether only the last layer is moved, else all layers by the numbers of the last.
    pub only_layer: bool,
    /// Whether lengths are measured as AdamW does, by the second moment of the gradients.
    pub preconditioned: bool,
}

/// Learning rates and weight decay.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Of gradient descent.
    pub sgd: f64,
    /// Of AdamW.
    pub adamw: f64,
    /// Of AdamW.
    pub weight_decay: f64,
}

/// A monitor of what the whole update does is around every optimizer, and `reduce_interference` with `lambda` 0 around the plain ones,
/// so that all of them say how many examples they harm.
macro_rules! optimizer {
    ($arm:expr, $inner:expr) => {{
        let moved = reduce_interference($inner, Hyper::from($arm.lambda))
            .iterations($arm.iterations)
            .layer(last_layer())
            .only_layer($arm.only_layer);
        if $arm.preconditioned {
            let second_moment = chain((
                mean(),
                square(),
                ema(0.999),
                sqrt(),
                add_scalar(1e-8),
                reciprocal(),
            ));
            Optimizer::new(monitor::harm(moved.preconditioner(second_moment)))
        } else {
            Optimizer::new(monitor::harm(moved))
        }
    }};
}

impl Arm {
    /// The update of an optimizer as it is.
    pub fn plain(base: Base) -> Self {
        Self {
            base,
            lambda: 0.0,
            iterations: 30,
            only_layer: false,
            preconditioned: false,
        }
    }

    /// The same with another `lambda`.
    #[must_use]
    pub fn lambda(self, lambda: f64) -> Self {
        Self { lambda, ..self }
    }

    /// The optimizer, with metrics.
    ///
    /// # Errors
    /// A learning rate or a `lambda` that makes no sense.
    pub fn optimizer(self, rates: Rates) -> Result<Optimizer, pergrad::Error> {
        match self.base {
            Base::Sgd => optimizer!(self, sgd(rates.sgd).momentum(0.9)),
            Base::AdamW => optimizer!(self, adamw(rates.adamw).weight_decay(rates.weight_decay)),
        }
    }

    /// What is said of the arm in a table.
    pub fn describe(self) -> String {
        if self.lambda == 0.0 {
            return "plain".to_owned();
        }
        let metric = if self.preconditioned {
            ", Adam's metric"
        } else {
            ""
        };
        let moved = if self.only_layer {
            ", last layer only"
        } else {
            ""
        };
        format!("lambda {}{metric}{moved}", self.lambda)
    }
}

/// The leaves from which the harm is told.
pub fn last_layer() -> Leaves {
    Leaves::matching("output.*")
}
