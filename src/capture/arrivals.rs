//! Where the gradients at the layers' outputs arrive while a backward pass runs.
//!
//! burn's backward pass is synchronous and runs on the calling thread, from the losses down to the first layer. Each layer that
//! took part in the capture announces the gradient at its output when the pass comes by, so that whoever listens can use it and
//! let it go, long before the pass has ended.

use std::cell::RefCell;

use burn::backend::DispatchTensor;

type Listener = Box<dyn FnMut(u64, Vec<DispatchTensor>)>;

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Calls `listener` with every arrival on this thread while `run` runs, also if that panics half-way.
pub(super) fn listen<R>(
    listener: impl FnMut(u64, Vec<DispatchTensor>) + 'static,
    run: impl FnOnce() -> R,
) -> R {
    /// Puts back who listened before.
    struct Restore(Option<Listener>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LISTENER.set(self.0.take());
        }
    }
    let _restore = Restore(LISTENER.replace(Some(Box::new(listener))));
    run()
}

/// What the layer with this ticket announces has arrived: the gradient at its output, or those of its parameters. Nothing happens if nobody listens.
pub(crate) fn announce(ticket: u64, parts: impl FnOnce() -> Vec<DispatchTensor>) {
    // Taken out while it works: what it computes may announce nothing to itself.
    if let Some(mut listener) = LISTENER.take() {
        listener(ticket, parts());
        LISTENER.set(Some(listener));
    }
}
