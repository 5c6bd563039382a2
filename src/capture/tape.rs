//! The tape: what the layers record while gradients are captured on this thread.

use std::cell::{Cell, RefCell};

use burn::backend::DispatchTensor;
use burn::module::{Param, ParamId};
use burn::tensor::{DType, Device, Gradients, Tensor};

use crate::backend::{affine, tap};
use crate::error::Error;
use crate::grads::form::Form;

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
    static NEXT_TICKET: Cell<u64> = const { Cell::new(0) };
}

#[derive(Default)]
struct Tape {
    /// Whether tokens are to be kept apart, although examples alone would take less.
    tokens_apart: bool,
    records: Vec<Record>,
    error: Option<Error>,
}

/// One use of a parameter.
pub(crate) struct Record {
    pub(crate) param: ParamId,
    pub(crate) place: Place,
    /// The length of axis 0 of the layer's output.
    pub(crate) examples: usize,
    /// Under which the gradient at the layer's output will arrive.
    pub(crate) ticket: u64,
    pub(crate) read: Read,
}

/// Which of the tensors that carry one parameter id was used. A clone from before a step, or a fork, has the ids of the model but is
/// another tensor.
pub(crate) struct Place {
    /// Where the parameter lies in memory: in the model itself, most often.
    pub(crate) address: usize,
    /// A backward pass that reaches this tensor and no other: it tells whether a parameter elsewhere is the same tensor.
    pub(crate) probe: Option<Box<dyn FnOnce() -> Gradients>>,
}

/// Makes the per-example gradients from what the layer announces in the backward pass.
pub(crate) type Read = Box<dyn FnOnce(&[DispatchTensor]) -> Form>;

/// How the per-example gradients of a parameter follow from the gradient `d [B, ..]` at a layer's output.
///
/// For layers of one's own; see [`record`].
pub struct Use<const D: usize> {
    param: ParamId,
    place: Place,
    form: Box<dyn FnOnce(Tensor<D>) -> Form>,
}

impl<const D: usize> std::fmt::Debug for Use<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Use")
            .field("param", &self.param)
            .finish_non_exhaustive()
    }
}

impl<const D: usize> Use<D> {
    /// `form` is called once, within the backward pass, with the gradient at the layer's output and without autodiff; what it
    /// captures must be without autodiff too. Parameters that are not trained need no use.
    pub fn new<const P: usize>(
        param: &Param<Tensor<P>>,
        form: impl FnOnce(Tensor<D>) -> Form + 'static,
    ) -> Self {
        let value = param.val();
        Self {
            param: param.id,
            place: Place {
                address: std::ptr::from_ref(param).addr(),
                probe: Some(Box::new(move || {
                    let size = value.shape().num_elements().min(1);
                    let first = value.flatten::<1>(0, P - 1).narrow(0, 0, size);
                    first.sum().backward()
                })),
            },
            form: Box::new(form),
        }
    }
}

/// Whether gradients are being captured on this thread.
pub fn is_recording() -> bool {
    TAPE.with_borrow(Option::is_some)
}

/// Whether the tokens of an example must be kept apart: a layer may not add their gradients up, though the sums are what an example
/// has. See [`per_token_grads`](crate::per_token_grads).
pub fn keeps_tokens_apart() -> bool {
    TAPE.with_borrow(|tape| tape.as_ref().is_some_and(|tape| tape.tokens_apart))
}

/// Refuses the capture from inside a layer: [`per_example_grads`](crate::per_example_grads) returns the first of these errors.
pub fn fail(error: Error) {
    TAPE.with_borrow_mut(|tape| {
        if let Some(tape) = tape {
            tape.error.get_or_insert(error);
        }
    });
}

/// A recording scope. Dropping it ends the recording, also when the closure panics.
pub(crate) struct Scope(());

impl Scope {
    pub(crate) fn enter(tokens_apart: bool) -> Result<Self, Error> {
        TAPE.with_borrow_mut(|tape| {
            if tape.is_some() {
                return Err(Error::Nested);
            }
            *tape = Some(Tape {
                tokens_apart,
                ..Tape::default()
            });
            Ok(Self(()))
        })
    }

    /// Ends the recording and gives out what was recorded.
    pub(crate) fn finish(self) -> Result<Vec<Record>, Error> {
        let tape = TAPE.take().unwrap_or_default();
        match tape.error {
            Some(error) => Err(error),
            None => Ok(tape.records),
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        TAPE.take();
    }
}

/// Records a layer with the output `z [B, ..]` and returns the output to go on with.
///
/// A layer calls it with the output it computed from *untracked* parameters (`param.val().inner()`), and a [`Use`] for each
/// parameter that is trained. Outside a capture it must not be called: see [`is_recording`].
///
/// # Example
/// A layer of one's own that shifts its input:
/// ```
/// use burn::module::{Module, Param};
/// use burn::tensor::{Device, Tensor};
/// use pergrad::capture::tape::{Use, is_recording, record};
/// use pergrad::grads::form::Form;
///
/// #[derive(Module, Debug)]
/// struct Shift {
///     by: Param<Tensor<1>>,
/// }
///
/// impl Shift {
///     fn forward(&self, x: Tensor<2>) -> Tensor<2> {
///         if !is_recording() || !self.by.is_require_grad() {
///             return x + self.by.val().unsqueeze();
///         }
///         let z = x + self.by.val().inner().unsqueeze();
///         // The gradient of the shift is that of the output: one token for each example.
///         record(z, self.by.val().device(), vec![Use::new(&self.by, |d: Tensor<2>| Form::Tokens(d.unsqueeze_dim(1)))])
///     }
/// }
///
/// let device = Device::default().autodiff();
/// let model = Shift { by: Param::from_tensor(Tensor::zeros([2], &device)) };
/// let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let losses = |m: &Shift, b: std::ops::Range<usize>| {
///     let y = m.forward(x.clone().slice([b]));
///     (y.clone() * y).sum_dim(1).flatten(0, 1)
/// };
/// pergrad::check_per_example_grads(&model, 2, losses, 1e-6).unwrap();
/// ```
pub fn record<const D: usize>(
    z: Tensor<D>,
    device: burn::tensor::Device,
    uses: Vec<Use<D>>,
) -> Tensor<D> {
    if uses.is_empty() {
        return z;
    }
    let (ticket, anchor) = (next_ticket(), anchor::<D>(&device, z.dtype()));
    note(ticket, z.dims()[0], 0, uses);
    tap(z, anchor, ticket)
}

/// Records `x * scale + shift` of `x [B, T, F]` with parameters `[1, 1, F]`, or of `x [B, F, T]` with parameters `[1, F, 1]`: the
/// gradients of each example's scale and shift, `[B, F]`, come out of the one backward operation.
pub(crate) fn record_affine(
    x: Tensor<3>,
    (scale, scale_use): (Tensor<3>, Option<Use<2>>),
    (shift, shift_use): (Tensor<3>, Option<Use<2>>),
    device: &Device,
) -> Tensor<3> {
    let (ticket, anchor) = (next_ticket(), anchor::<3>(device, x.dtype()));
    let examples = x.dims()[0];
    note(ticket, examples, 0, scale_use.into_iter().collect());
    note(ticket, examples, 1, shift_use.into_iter().collect());
    affine(x, scale, shift, anchor, ticket)
}

fn next_ticket() -> u64 {
    NEXT_TICKET.replace(NEXT_TICKET.get().wrapping_add(1))
}

/// What makes the output of a layer tracked, also of the first one, whose input is not.
fn anchor<const D: usize>(device: &Device, dtype: DType) -> Tensor<D> {
    Tensor::zeros([1; D], (device, dtype)).require_grad()
}

/// Notes uses that read one part of what arrives.
fn note<const D: usize>(ticket: u64, examples: usize, part: usize, uses: Vec<Use<D>>) {
    TAPE.with_borrow_mut(|tape| {
        let Some(tape) = tape else { return };
        for Use { param, place, form } in uses {
            let read: Read =
                Box::new(move |parts| form(Tensor::from_dispatch(parts[part].clone())));
            tape.records.push(Record {
                param,
                place,
                examples,
                ticket,
                read,
            });
        }
    });
}

/// `[B, .., F]` as B examples of T tokens of F features.
pub(crate) fn by_token<const D: usize>(x: Tensor<D>) -> Tensor<3> {
    let dims = x.dims();
    let tokens: usize = dims[1..D - 1].iter().product();
    crate::model::reshape(x, [dims[0], tokens, dims[D - 1]])
}
