//! Which parameters a model holds, and whether a use of one was a use of the model's own.

use std::collections::HashSet;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::tensor::{Gradients, Tensor};

use super::tape::Record;
use crate::model::ModelLeaves;

/// Where the parameters of a model lie in memory.
#[derive(Default)]
pub(super) struct Places(HashSet<(ParamId, usize)>);

impl Places {
    pub(super) fn of<M: Module>(model: &M) -> Self {
        let mut places = Self::default();
        model.visit(&mut places);
        places
    }

    /// Whether the parameter of the record is the model's own, and not that of a copy.
    pub(super) fn hold<M: Module>(&self, model: &M, record: &mut Record) -> bool {
        let (id, place) = (record.param, &mut record.place);
        self.0.contains(&(id, place.address))
            || place
                .probe
                .take()
                .is_some_and(|probe| is_in(model, id, &probe()))
    }
}

impl ModuleVisitor for Places {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.insert((param.id, std::ptr::from_ref(param).addr()));
    }
}

/// Whether a parameter of the model is the tensor that these gradients reach.
fn is_in<M: Module>(model: &M, id: ParamId, grads: &Gradients) -> bool {
    struct Find<'a> {
        id: ParamId,
        grads: &'a Gradients,
        found: bool,
    }
    impl ModuleVisitor for Find<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.found |= param.id == self.id && param.val().grad(self.grads).is_some();
        }
    }
    let mut visitor = Find {
        id,
        grads,
        found: false,
    };
    model.visit(&mut visitor);
    visitor.found
}

/// The first trained parameter that got an ordinary gradient.
pub(super) fn tracked_outside<M: Module>(
    model: &M,
    leaves: &ModelLeaves,
    grads: &Gradients,
) -> Option<ParamId> {
    struct Outside<'a> {
        leaves: &'a ModelLeaves,
        grads: &'a Gradients,
        found: Option<ParamId>,
    }
    impl ModuleVisitor for Outside<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let trained = self.leaves.position(param.id).is_some();
            if trained && self.found.is_none() && param.val().grad(self.grads).is_some() {
                self.found = Some(param.id);
            }
        }
    }
    let mut visitor = Outside {
        leaves,
        grads,
        found: None,
    };
    model.visit(&mut visitor);
    visitor.found
}
