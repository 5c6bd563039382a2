//! The backward passes.

use burn::backend::Backend;
use burn::backend::tensor::FloatTensor;
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

use super::ops::GradOps;

impl<B: Backend + GradOps, C: CheckpointStrategy> GradOps for Autodiff<B, C> {
    fn tap(x: FloatTensor<Self>, sink: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Tap;

        impl<B: Backend> Backward<B, 2> for Tap {
            type State = ();

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                grads: &mut Gradients,
                _checkpointer: &mut Checkpointer,
            ) {
                let [x, sink] = ops.parents;
                let grad = grads.consume::<B>(&ops.node);
                // The container does not look at shapes, so the sink may be a single number: no zero tensor of the
                // output's size is ever made for it.
                if let Some(sink) = sink {
                    grads.register::<B>(sink.id, grad.clone());
                }
                if let Some(x) = x {
                    grads.register::<B>(x.id, grad);
                }
            }
        }

        let nodes = [x.node(), sink.node()];
        let output = B::tap(x.into_primitive(), sink.into_primitive());
        match Tap.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((), output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        }
    }
}
