//! One capture: a forward pass that records, and a backward pass that gives out the gradients of each leaf when they are complete.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use burn::backend::DispatchTensor;
use burn::module::Module;
use burn::tensor::Tensor;

use super::arrivals;
use super::places::{Places, tracked_outside};
use super::tape::{Read, Scope};
use crate::backend;
use crate::error::Error;
use crate::grads::check_dtype;
use crate::grads::form::Form;
use crate::model::{self, ModelLeaves};

/// Gets the gradients of the leaves, each once, in the order in which the backward pass completes them.
pub(crate) trait Receive: 'static {
    /// The gradients of the leaf at this position.
    fn leaf(&mut self, at: usize, form: Form);
}

/// What becomes of the tokens of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// Layers may add them up.
    Joined,
    /// Every layer keeps them apart.
    Apart,
}

/// Runs the closure and the backward pass of its losses. `begin` gets the number of examples between the two, and makes the receiver.
/// Gives back the losses, without autodiff, and the receiver, which then has the gradients of every leaf.
///
/// On an error the receiver is dropped, whatever it has got: what is wrong with a model may show only at the end of the pass.
pub(crate) fn run<M: Module, R: Receive>(
    model: &M,
    leaves: &ModelLeaves,
    tokens: Tokens,
    losses: impl FnOnce(&M) -> Tensor<1>,
    begin: impl FnOnce(usize) -> Result<R, Error>,
) -> Result<(Tensor<1>, R), Error> {
    if leaves.ids.is_empty() {
        return Err(Error::NothingTrained);
    }
    let values = model::rows(model, leaves);
    if let Some(value) = values.iter().find(|value| !backend::has_operations(value)) {
        let device = format!("{:?}", value.device());
        return Err(Error::Backend { device });
    }
    let scope = Scope::enter(tokens == Tokens::Apart)?;
    let losses = losses(model);
    let mut records = scope.finish()?;
    let examples = losses.dims()[0];
    if !losses.is_tracked() && examples > 0 {
        return Err(Error::LossNotTracked);
    }
    let paths = model::paths(leaves);
    // Another model in the closure is none of our business.
    records.retain(|record| paths.contains_key(&record.param));
    if let Some(record) = records.iter().find(|record| record.examples != examples) {
        return Err(Error::LossCount {
            losses: examples,
            leaf: paths[&record.param].clone(),
            examples: record.examples,
        });
    }
    let mut pass = Pass::new(leaves, examples, begin(examples)?);
    if examples == 0 {
        pass.finish(&values)?;
        return Ok((losses.inner(), pass.receiver));
    }
    let places = Places::of(model);
    let mut foreign = None;
    let nothing_recorded = records.is_empty();
    for mut record in records {
        if foreign.is_none() && !places.hold(model, &mut record) {
            foreign = Some(record.param);
        }
        let at = leaves.position(record.param).expect("a leaf of the model");
        pass.expect(record.ticket, at, record.read);
    }
    let pass = Rc::new(RefCell::new(pass));
    let listener = pass.clone();
    let listener = move |ticket, parts: Vec<_>| listener.borrow_mut().arrive(ticket, &parts);
    let grads = arrivals::listen(listener, || losses.clone().sum().backward());
    if let Some(id) = tracked_outside(model, leaves, &grads) {
        let leaf = paths[&id].clone();
        return Err(Error::NotCaptured { leaf });
    }
    if nothing_recorded {
        return Err(Error::LossNotTracked);
    }
    if let Some(id) = foreign {
        let leaf = paths[&id].clone();
        return Err(Error::AnotherCopy { leaf });
    }
    let pass = Rc::try_unwrap(pass).ok().expect("nobody listens any more");
    let mut pass = pass.into_inner();
    pass.finish(&values)?;
    Ok((losses.inner(), pass.receiver))
}

/// What has arrived of each leaf, and what is still to come.
struct Pass<R> {
    leaves: ModelLeaves,
    examples: usize,
    receiver: R,
    /// By ticket: the leaf, which of its uses this is, and how to read it.
    awaited: HashMap<u64, Vec<(usize, usize, Read)>>,
    /// For each leaf its uses in the order of the forward pass; none once the receiver has got them.
    uses: Vec<Option<Vec<Option<Form>>>>,
    error: Option<Error>,
}

impl<R: Receive> Pass<R> {
    fn new(leaves: &ModelLeaves, examples: usize, receiver: R) -> Self {
        Self {
            uses: vec![Some(Vec::new()); leaves.ids.len()],
            leaves: leaves.clone(),
            examples,
            receiver,
            awaited: HashMap::new(),
            error: None,
        }
    }

    fn expect(&mut self, ticket: u64, leaf: usize, read: Read) {
        let uses = self.uses[leaf].as_mut().expect("nothing is given out yet");
        uses.push(None);
        let awaited = self.awaited.entry(ticket).or_default();
        awaited.push((leaf, uses.len() - 1, read));
    }

    fn arrive(&mut self, ticket: u64, parts: &[DispatchTensor]) {
        for (leaf, at, read) in self.awaited.remove(&ticket).unwrap_or_default() {
            let Some(uses) = &mut self.uses[leaf] else {
                continue;
            };
            uses[at] = Some(read(parts));
            if uses.iter().all(Option::is_some) {
                self.complete(leaf, None);
            }
        }
    }

    /// Gives out what no backward pass reached: zeros where nothing arrived.
    fn finish(&mut self, values: &[Tensor<2>]) -> Result<(), Error> {
        self.awaited.clear();
        for (leaf, value) in values.iter().enumerate() {
            self.complete(leaf, Some(value));
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn complete(&mut self, leaf: usize, value: Option<&Tensor<2>>) {
        let Some(uses) = self.uses[leaf].take() else {
            return;
        };
        let info = &self.leaves.tree.leaves()[leaf];
        let form = Form::join(uses.into_iter().flatten().collect()).or_else(|| {
            let value = value?;
            // No tokens: zeros that take no memory.
            let shape = [self.examples, 0, info.size()];
            let nothing = crate::model::full(0.0, shape, &value.device(), value.dtype());
            Some(Form::Tokens(nothing))
        });
        let Some(form) = form.map(Form::inner) else {
            return;
        };
        if let Err(error) = fits(info, self.examples, &form) {
            self.error.get_or_insert(error);
        }
        if self.error.is_none() {
            self.receiver.leaf(leaf, form);
        }
    }
}

/// A layer of one's own may have said something that cannot be.
fn fits(info: &pergrad_transforms::LeafInfo, examples: usize, form: &Form) -> Result<(), Error> {
    check_dtype(info, form.dtype())?;
    if (form.examples(), form.size()) == (examples, info.size()) && form.is_consistent() {
        return Ok(());
    }
    Err(Error::Form {
        leaf: info.path.clone(),
        examples,
        size: info.size(),
        got: form.describe(),
    })
}
