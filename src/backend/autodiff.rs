//! The backward passes.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, BackendTensor, DispatchKindConversion, DispatchTensor};
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

use super::ops::{BackwardOps, GradOps};
use crate::capture::arrivals;

impl<B: Backend + GradOps + BackwardOps, C: CheckpointStrategy> GradOps for Autodiff<B, C>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    fn tap(x: FloatTensor<Self>, anchor: FloatTensor<Self>, ticket: u64) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Tap;

        impl<B: Backend> Backward<B, 2> for Tap
        where
            DispatchTensor: DispatchKindConversion<B>,
        {
            type State = u64;

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                grads: &mut Gradients,
                _checkpointer: &mut Checkpointer,
            ) {
                // The anchor gets no gradient: it only made the output tracked.
                let [x, _anchor] = ops.parents;
                let grad = grads.consume::<B>(&ops.node);
                if let Some(x) = x {
                    grads.register::<B>(x.id, grad.clone());
                }
                arrivals::announce(ops.state, || vec![public::<B>(grad)]);
            }
        }

        let nodes = [x.node(), anchor.node()];
        let output = B::tap(x.into_primitive(), anchor.into_primitive(), ticket);
        match Tap.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(ticket, output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        }
    }

    fn affine(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        anchor: FloatTensor<Self>,
        ticket: u64,
    ) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Affine;

        impl<B: Backend + BackwardOps> Backward<B, 2> for Affine
        where
            DispatchTensor: DispatchKindConversion<B>,
        {
            type State = (u64, FloatTensor<B>, FloatTensor<B>);

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                grads: &mut Gradients,
                _checkpointer: &mut Checkpointer,
            ) {
                let [x, _anchor] = ops.parents;
                let grad = grads.consume::<B>(&ops.node);
                let (ticket, input, scale) = ops.state;
                let [d, scales, shifts] = B::affine_backward(grad, input, scale);
                if let Some(x) = x {
                    grads.register::<B>(x.id, d);
                }
                let parts = || vec![public::<B>(scales), public::<B>(shifts)];
                arrivals::announce(ticket, parts);
            }
        }

        let nodes = [x.node(), anchor.node()];
        let (x, scale) = (x.into_primitive(), scale.into_primitive());
        let (shift, anchor) = (shift.into_primitive(), anchor.into_primitive());
        let state = (ticket, x.clone(), scale.clone());
        let output = B::affine(x, scale, shift, anchor, ticket);
        match Affine.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(state, output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        }
    }
}

/// A tensor of a backend as burn hands it to everybody.
fn public<B: Backend>(x: FloatTensor<B>) -> DispatchTensor
where
    DispatchTensor: DispatchKindConversion<B>,
{
    <DispatchTensor as DispatchKindConversion<B>>::from_backend(BackendTensor::Float(x))
}
