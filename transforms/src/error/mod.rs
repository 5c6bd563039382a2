//! Everything that can be wrong with a chain, a specification or an input, with the way out.

mod words;

use words::{extra_kind, lines, list, plural, suggestion};

use crate::axis::AxisKind;

/// What was wrong. Each message names the link or leaf, says what was expected and what came, and the way out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A hyper-parameter has a value that makes no sense.
    #[error("`{name}` must be {expected}, but it is {got}")]
    Hyper {
        /// `"link.field"` or the user's name.
        name: String,
        /// What makes sense.
        expected: String,
        /// What came.
        got: String,
    },

    /// No hyper-parameter has this name.
    #[error("there is no hyper-parameter `{name}`: this chain has {}", list(known))]
    UnknownHyper {
        /// The name that was asked for.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },

    /// The batch is too small for a reduction.
    #[error(
        "`{link}` needs at least {needs} example{}, but the batch has {got}: skip this batch, or make it larger",
        plural(*needs)
    )]
    TooFewExamples {
        /// The link.
        link: String,
        /// How many it needs.
        needs: usize,
        /// How many came.
        got: usize,
    },

    /// A link needs the whole batch at once, so it cannot come in parts.
    #[error(
        "`{link}` {reason}, so what it gives of parts of a batch cannot be merged: step with the whole batch, or take a chain whose reductions are sums, means, variances, maxima or minima of what each example has by itself"
    )]
    Whole {
        /// The link.
        link: String,
        /// What it does.
        reason: &'static str,
    },

    /// A link looks beyond the leaf it is at.
    #[error(
        "`{link}` {what}, but burn's `Optimizer` trait sees one parameter at a time: step the whole model with `pergrad::Optimizer::step`, also inside burn-train's loop by its custom step"
    )]
    AcrossLeaves {
        /// The link.
        link: String,
        /// What it does.
        what: String,
    },

    /// A link asked for state and never set it.
    #[error(
        "`{link}` asks for the state `{name}` but never sets it: call `set` with the next value, or use `state`"
    )]
    UnsetState {
        /// The state.
        name: String,
        /// The link.
        link: String,
    },

    /// Two leaves have one path.
    #[error("two leaves have the path `{leaf}`: give each leaf a path of its own")]
    DuplicateLeaf {
        /// The path.
        leaf: String,
    },

    /// Two leaves disagree on the number of examples.
    #[error(
        "leaf `{leaf}` has {got} example{} (axis 0), but leaf `{first}` has {expected}: the batch is axis 0 of every leaf, and all must have the same length",
        plural(*got)
    )]
    LeadingSize {
        /// The leaf that set the size.
        first: String,
        /// Its size.
        expected: usize,
        /// The leaf that differs.
        leaf: String,
        /// Its size.
        got: usize,
    },

    /// A gradient for a leaf that the model does not have.
    #[error(
        "there is a gradient for `{leaf}`, but the model has no such leaf: it has {}",
        list(known)
    )]
    UnknownLeaf {
        /// The leaf.
        leaf: String,
        /// Those that exist.
        known: Vec<String>,
    },

    /// A leaf of the model has no gradient.
    #[error(
        "leaf `{leaf}` has no gradient: give one (zeros if it took no part in the loss), or leave the leaf out of the trained parameters"
    )]
    MissingLeaf {
        /// The leaf.
        leaf: String,
    },

    /// A gradient has the wrong shape.
    #[error("the gradient of `{leaf}` must have the shape {expected}, but it has {got}{hint}")]
    LeafShape {
        /// The leaf.
        leaf: String,
        /// What was expected, as text: `[B, 3, 2]`.
        expected: String,
        /// What came.
        got: String,
        /// A guess at the cause, beginning with `: `, or nothing.
        hint: &'static str,
    },

    /// The parameters given to a step are not those of the model.
    #[error(
        "parameter `{leaf}`: expected {expected}, but got {got}: give each step all parameters of the model, with the shapes it was built with"
    )]
    Params {
        /// The leaf.
        leaf: String,
        /// What was expected.
        expected: String,
        /// What came.
        got: String,
    },

    /// A gradient has another element type than its parameter.
    #[error(
        "the gradient of `{leaf}` is {got}, but the parameter is {expected}: cast the gradient, or train the parameter in {got}"
    )]
    LeafDtype {
        /// The leaf.
        leaf: String,
        /// The parameter's type.
        expected: String,
        /// The gradient's type.
        got: String,
    },

    /// A selection of leaves does not fit the model.
    #[error("`{path}` {problem}: known are {}", list(known))]
    Selection {
        /// The leaf.
        path: String,
        /// What is wrong.
        problem: &'static str,
        /// The other side's leaves.
        known: Vec<String>,
    },

    /// A leaf is in no part of a partition.
    #[error(
        "leaf `{leaf}` is in no part of the partition, whose parts are {}: give it one, or end with a part for `Leaves::All`",
        parts.join("; ")
    )]
    Unassigned {
        /// The leaf.
        leaf: String,
        /// The selections of the parts, as text.
        parts: Vec<String>,
    },

    /// A schedule is evaluated at a count that the executor does not know.
    #[error(
        "`{name}` is a schedule of `{count}`, which counts steps that are skipped by what is in the gradients: give this executor a number for it, or put the link with the schedule outside the guard"
    )]
    UnknownCount {
        /// The hyper-parameter.
        name: String,
        /// The state that counts.
        count: String,
    },

    /// Random numbers cannot be told apart from those of an earlier step.
    #[error(
        "`{name}` needs a number of its own for each step, but `{count}`, which counts them, {reason}: put the link with the noise outside the guard"
    )]
    NoiseCount {
        /// The random numbers.
        name: String,
        /// The state that counts.
        count: String,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// A named input was not given.
    #[error(
        "the chain reads `{name}` at each step, but {}: add it to the extras of the step",
        if given.is_empty() { "no input was given".to_owned() } else { format!("only {} came", given.join(", ")) }
    )]
    MissingExtra {
        /// The name.
        name: String,
        /// Those that came.
        given: Vec<String>,
    },

    /// A named input has another length than the batch, or than 1 if it is one number.
    #[error(
        "`{name}` must have {expected} number{}, but it has {got}: an input for each example has as many as the batch has examples, any other has one",
        plural(*expected)
    )]
    ExtraLength {
        /// The name.
        name: String,
        /// B, or 1.
        expected: usize,
        /// What came.
        got: usize,
    },

    /// Two links want different kinds of input under one name.
    #[error(
        "`{link}` reads `{name}` as another kind of input than an earlier link, which reads it as {}: give one of them another name",
        extra_kind(*known)
    )]
    ExtraKind {
        /// The name.
        name: String,
        /// The second link.
        link: String,
        /// What the first link made of it.
        known: AxisKind,
    },

    /// A run-time chain has its links in an order that has no meaning.
    #[error("link {position} `{link}` takes {takes} gradients, but gets {got} ones: {reason}")]
    Order {
        /// Its position, from 0.
        position: usize,
        /// The link.
        link: String,
        /// What it takes.
        takes: AxisKind,
        /// What it gets.
        got: AxisKind,
        /// The reason and the way out.
        reason: &'static str,
    },

    /// An optimizer's chain ends with the examples apart.
    #[error(
        "the chain ends with per-example gradients, but an optimizer needs one update for each parameter: add a reduction over examples such as `mean`"
    )]
    EndsPerExample,

    /// A specification names a link that does not exist.
    #[error("there is no link `{name}`{}", suggestion(near.as_deref()))]
    UnknownLink {
        /// The name.
        name: String,
        /// The nearest known name.
        near: Option<String>,
    },

    /// A specification gives an argument that the link does not take.
    #[error("`{link}` takes no argument `{argument}`: it takes {}", list(known))]
    UnknownArgument {
        /// The link.
        link: String,
        /// The argument.
        argument: String,
        /// Those it takes.
        known: Vec<String>,
    },

    /// A specification leaves out an argument that has no default.
    #[error("`{link}` needs the argument `{argument}`, {expected}")]
    MissingArgument {
        /// The link.
        link: String,
        /// The argument.
        argument: String,
        /// What it should be.
        expected: &'static str,
    },

    /// An argument of a specification is of the wrong kind.
    #[error("the argument `{argument}` of `{link}` must be {expected}, but it is {got}")]
    ArgumentKind {
        /// The link.
        link: String,
        /// The argument.
        argument: String,
        /// What it should be.
        expected: &'static str,
        /// What came.
        got: String,
    },

    /// A saved state does not belong to this chain and model.
    #[error(
        "the state does not fit:{}\nload the state that was saved for this chain and model, or go on with a new optimizer",
        lines(differences)
    )]
    State {
        /// What differs, a line each.
        differences: Vec<String>,
    },

    /// A number given to a function makes no sense.
    #[error("`{name}` must be {expected}, but it is {got}")]
    Number {
        /// The argument, with its position if it is one of several: `"norms[3]"`.
        name: String,
        /// What makes sense.
        expected: String,
        /// What came.
        got: String,
    },

    /// Numbers given to a function that belong together are not of one count.
    #[error("`{name}` must have {expected} number{}, but it has {got}: give one for each", plural(*expected))]
    Length {
        /// The argument.
        name: &'static str,
        /// As many as the other one.
        expected: usize,
        /// What came.
        got: usize,
    },

    /// An executor outside this crate failed.
    #[error("{0}")]
    Executor(String),
}

impl Error {
    /// [`Error::Number`] unless `fits`, for the number at a position of an argument.
    pub(crate) fn check_number(
        name: &str,
        at: usize,
        got: f64,
        expected: &str,
        fits: bool,
    ) -> Result<(), Self> {
        if fits {
            return Ok(());
        }
        Err(Self::Number {
            name: format!("{name}[{at}]"),
            expected: expected.to_owned(),
            got: got.to_string(),
        })
    }

    /// [`Error::Length`] unless there are as many as expected.
    pub(crate) fn check_length(
        name: &'static str,
        expected: usize,
        got: usize,
    ) -> Result<(), Self> {
        if expected == got {
            return Ok(());
        }
        Err(Self::Length {
            name,
            expected,
            got,
        })
    }
}
