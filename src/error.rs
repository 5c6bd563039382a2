//! Everything that can be wrong, with the way out.

/// What was wrong. Each message names the link, layer or leaf, says what was expected and what came, and the way out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chain, its inputs or its state; see [`pergrad_transforms::Error`].
    #[error(transparent)]
    Chain(#[from] pergrad_transforms::Error),

    /// A leaf was asked for that is not there.
    #[error("there is no leaf `{leaf}`: there are {}", known.join(", "))]
    NoLeaf {
        /// The leaf.
        leaf: String,
        /// Those that are there.
        known: Vec<String>,
    },

    /// A leaf was asked for with another rank than it has.
    #[error("`{leaf}` has the shape {shape:?}, so ask for rank {}, not {rank}", shape.len())]
    LeafRank {
        /// The leaf.
        leaf: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The rank that was asked for.
        rank: usize,
    },

    /// Gradients of another model.
    #[error(
        "the gradients of `{leaf}` were taken of another model with the same paths: step the model they were taken of, or one that came from it"
    )]
    AnotherModel {
        /// The leaf.
        leaf: String,
    },

    /// The model has no trained parameter.
    #[error(
        "the model has no parameter that requires gradients: build it on `device.autodiff()` or call `model.train()` first, and unfreeze what is to be trained"
    )]
    NothingTrained,

    /// The model is on a backend for which pergrad has no operations.
    #[error(
        "the model is on {device}, where pergrad cannot capture per-example gradients: build it on Flex, burn's CPU backend, or take `per_example_grads_looped`, which works everywhere"
    )]
    Backend {
        /// The device.
        device: String,
    },

    /// A parameter was used in a way that the capture does not see.
    #[error(
        "`{leaf}` is trained, but it was used outside pergrad's layers, so its per-example gradients are unknown: use the layer of the same name in `pergrad::nn`, freeze the parameter, or take `per_example_grads_looped`, which works for every model"
    )]
    NotCaptured {
        /// The parameter.
        leaf: String,
    },

    /// A copy of the model was used beside it.
    #[error(
        "`{leaf}` was used by another copy of the model (a clone from before a step, or a fork), whose gradients are not those of this model: freeze the copy with `no_grad()`, or compute its part outside the closure"
    )]
    AnotherCopy {
        /// The parameter.
        leaf: String,
    },

    /// The closure did not return one loss for each example.
    #[error(
        "the closure returned {losses} loss{}, but `{leaf}` saw {examples} examples: return one loss for each example (`[B]`), without taking their mean or sum",
        if *losses == 1 { "" } else { "es" }
    )]
    LossCount {
        /// How many losses came.
        losses: usize,
        /// The leaf that saw another number of examples.
        leaf: String,
        /// That number.
        examples: usize,
    },

    /// The closure of a loop over examples did not return the one loss of its one example.
    #[error(
        "the closure got the range of one example, but returned {losses} losses: slice the inputs by the range it gets, and return the losses of those examples only"
    )]
    LoopedLossCount {
        /// How many losses came.
        losses: usize,
    },

    /// The losses do not depend on the parameters.
    #[error(
        "the losses do not depend on any trained parameter of the model: compute them inside the closure from the model it gets, on a device with autodiff"
    )]
    LossNotTracked,

    /// A layer got an input without a batch axis.
    #[error(
        "`{layer}` got an input of rank 1 while per-example gradients are captured: its axis 0 must be the batch, so give it the shape [B, ..]"
    )]
    NoBatchAxis {
        /// The layer.
        layer: &'static str,
    },

    /// A layer made one example depend on the others.
    #[error(
        "`{layer}` is in training mode while per-example gradients are captured: the statistics of the batch mix the examples, so no example has a gradient of its own; freeze the layer (`norm.freeze()`), or train its scale and shift behind the running statistics (`norm.training = Param::from_bool(false)`), or take GroupNorm, LayerNorm or InstanceNorm"
    )]
    MixesExamples {
        /// The layer.
        layer: &'static str,
    },

    /// The tokens of a leaf are already added up.
    #[error(
        "the gradients of `{leaf}` are held in full, so its tokens are already added up and cannot be told apart: `per_token_grads` captures them apart in every layer but a grouped convolution and a table that is both looked up and multiplied with"
    )]
    NoTokens {
        /// The leaf.
        leaf: String,
    },

    /// A layer recorded gradients that its parameter cannot have.
    #[error(
        "a layer recorded gradients of {got} for `{leaf}`, but they must be of {examples} examples and {size} elements, with factors that agree: mend the `Use` that the layer records for it"
    )]
    Form {
        /// The parameter.
        leaf: String,
        /// The number of examples of the capture.
        examples: usize,
        /// The number of elements of the parameter.
        size: usize,
        /// What came.
        got: String,
    },

    /// Weights of examples that are not one for each.
    #[error(
        "the closure returned {weights} weights for {examples} examples: return one for each norm it gets (`[B]`)"
    )]
    WeightCount {
        /// How many weights came.
        weights: usize,
        /// The number of examples.
        examples: usize,
    },

    /// A capture was started inside a capture.
    #[error(
        "per-example gradients are already being captured on this thread: take the inner ones before or after, not inside the closure"
    )]
    Nested,

    /// Captured and looped gradients disagree.
    #[error(
        "captured and looped per-example gradients differ by {difference:e} (relative to the largest element of the example) at `{leaf}`, example {example}: either a layer or the closure mixes examples (batch statistics, one input shared by all), or the closure is random, or the gradients are wrong"
    )]
    Mismatch {
        /// The leaf.
        leaf: String,
        /// The example with the largest difference.
        example: usize,
        /// That difference.
        difference: f64,
    },

    /// A leaf or input has a dtype that no gradient has.
    #[error("`{name}` has the dtype {got}, but gradients are f16, bf16, f32 or f64: cast it")]
    Dtype {
        /// The leaf or input.
        name: String,
        /// What came.
        got: String,
    },

    /// A chain without the hyper-parameter that burn sets at each step.
    #[error(
        "the chain has no hyper-parameter `learning_rate` (it has {}), so the learning rate that burn gives at each step would be ignored: end it with `scale_by_learning_rate`, or name a hyper-parameter so by `.named(\"learning_rate\")`",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    NoLearningRate {
        /// The hyper-parameters of the chain.
        known: Vec<String>,
    },

    /// Parts of a batch that do not belong together.
    #[error(
        "this part of a batch was accumulated for {what}, so it cannot be merged: accumulate every part of a batch with one optimizer and the same model, then step once"
    )]
    OtherPart {
        /// What it was accumulated for.
        what: &'static str,
    },

    /// Statistics of other gradients.
    #[error(
        "statistics of the leaves {} cannot be merged into those of {}: merge statistics of the gradients of one model",
        got.join(", "), expected.join(", ")
    )]
    OtherLeaves {
        /// The leaves that were there.
        expected: Vec<String>,
        /// Those that came.
        got: Vec<String>,
    },

    /// Devices that cannot add up what each of them has.
    #[error(
        "burn has no collective operations on {device}: use CUDA devices, or `Threads`, or a `Collective` of your own"
    )]
    NoCollective {
        /// The device.
        device: String,
    },

    /// Replicas that would take different steps.
    #[error(
        "the optimizer of device {rank} is no replica of that of device 0: build both from one chain, with one seed if it has noise (`Seed::from`), set the same hyper-parameters, and load the same state"
    )]
    OtherReplica {
        /// The device.
        rank: usize,
    },

    /// A device that is none of those that share a batch.
    #[error("device {rank} was asked for, but {devices} share the batch: count from 0")]
    Rank {
        /// The position that was asked for.
        rank: usize,
        /// How many there are.
        devices: usize,
    },

    /// A step panicked after it had taken the state.
    #[error(
        "a step of this optimizer was interrupted by a panic, and its state is lost: load a saved state, or make a new optimizer"
    )]
    Interrupted,

    /// Reading a tensor back from its device failed.
    #[error("a tensor could not be read from its device: {0}")]
    Read(String),
}
