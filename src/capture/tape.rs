//! The tape: what the layers record while gradients are captured on this thread.

use std::cell::RefCell;
use std::rc::Rc;

use burn::module::{Param, ParamId};
use burn::tensor::{Gradients, Tensor};

use crate::backend::tap;
use crate::error::Error;

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Tape {
    records: Vec<Record>,
    error: Option<Error>,
}

/// One use of a parameter.
pub(crate) struct Record {
    param: ParamId,
    examples: usize,
    kind: Kind,
    sink: Rc<Sink>,
}

enum Kind {
    /// `g_b = sum_t a[b,t] (x) d[b,t]`, with `a [B, T, I]`.
    Outer { a: Box<Tensor<3>> },
    /// `g_b = sum_t d[b,t]`.
    Tokens,
}

/// Where the output gradient of a layer arrives. It may be read by the records of several parameters.
struct Sink {
    read: ReadSink,
}

/// The output gradient `[B, T, O]`, if the losses depend on the layer.
type ReadSink = Box<dyn Fn(&Gradients) -> Option<Tensor<3>>>;

/// Whether gradients are being captured on this thread.
pub(crate) fn is_recording() -> bool {
    TAPE.with_borrow(Option::is_some)
}

/// Remembers the first error of a layer; the capture returns it.
pub(crate) fn fail(error: Error) {
    TAPE.with_borrow_mut(|tape| {
        if let Some(tape) = tape {
            tape.error.get_or_insert(error);
        }
    });
}

/// A recording scope. Dropping it ends the recording, also when the closure panics.
pub(crate) struct Scope(());

impl Scope {
    pub(crate) fn enter() -> Result<Self, Error> {
        TAPE.with_borrow_mut(|tape| {
            if tape.is_some() {
                return Err(Error::Nested);
            }
            *tape = Some(Tape::default());
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

/// Records a layer `z = f(a w) + b` whose output is `z [B, .., O]`, and returns the output to go on with.
///
/// `a` is the layer's input `[B, .., I]` without autodiff; `weight` and `bias` are the parameters that are trained.
pub(crate) fn linear<const D: usize>(
    z: Tensor<D>,
    a: Tensor<D>,
    weight: Option<&Param<Tensor<2>>>,
    bias: Option<&Param<Tensor<1>>>,
) -> Tensor<D> {
    let device = match (weight, bias) {
        (Some(weight), _) => weight.val().device(),
        (None, Some(bias)) => bias.val().device(),
        (None, None) => return z,
    };
    let options = (&device, z.dtype());
    let sink = Tensor::<D>::zeros([1; D], options).require_grad();
    let z = tap(z, sink.clone());
    let [examples, tokens, inputs] = by_token(&a);
    let [_, _, outputs] = by_token(&z);
    let read = Rc::new(Sink {
        read: Box::new(move |grads| {
            let d = sink.grad(grads)?;
            Some(d.reshape([examples, tokens, outputs]))
        }),
    });
    let record = |param, kind| {
        let record = Record {
            param,
            examples,
            kind,
            sink: read.clone(),
        };
        TAPE.with_borrow_mut(|tape| {
            if let Some(tape) = tape {
                tape.records.push(record);
            }
        });
    };
    if let Some(weight) = weight {
        let a = Box::new(a.reshape([examples, tokens, inputs]));
        record(weight.id, Kind::Outer { a });
    }
    if let Some(bias) = bias {
        record(bias.id, Kind::Tokens);
    }
    z
}

/// `[B, .., F]` as B examples of T tokens of F features.
fn by_token<const D: usize>(x: &Tensor<D>) -> [usize; 3] {
    let dims = x.dims();
    [dims[0], dims[1..D - 1].iter().product(), dims[D - 1]]
}

impl Record {
    pub(crate) fn param(&self) -> ParamId {
        self.param
    }

    pub(crate) fn examples(&self) -> usize {
        self.examples
    }

    /// The rows `[B, P]` of this use, or nothing if the losses do not depend on it.
    pub(crate) fn rows(self, grads: &mut Gradients) -> Option<Tensor<2>> {
        let d = (self.sink.read)(grads)?;
        let [examples, tokens, outputs] = d.dims();
        Some(match self.kind {
            Kind::Outer { a } => {
                let inputs = a.dims()[2];
                let rows = if tokens == 1 {
                    // An outer product: broadcasting is cheaper than a product of matrices with an inner size of 1.
                    a.swap_dims(1, 2) * d
                } else {
                    a.swap_dims(1, 2).matmul(d)
                };
                rows.reshape([examples, inputs * outputs])
            }
            Kind::Tokens => d.sum_dim(1).reshape([examples, outputs]),
        })
    }
}
