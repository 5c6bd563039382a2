//! A scale of the updates that is learned while training.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::error::Error;
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "mechanize",
    family: Family::Wrapper,
    summary: "p0 + s * sum of links(g), with s from g . (sum of links(g))",
    reference: "Cutkosky et al., 2023, arXiv 2306.00144",
    arguments: &[
        Argument::required("links"),
        Argument::optional("weight_decay", "0.01"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("s_init", "1e-6"),
        Argument::optional("num_betas", "6"),
    ],
    build: |args| {
        let mut link = mechanize(args.aggregated_links("links")?);
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        args.set_hyper("eps", &mut link.eps)?;
        if let Some(s_init) = args.number("s_init")? {
            link.s_init = s_init;
        }
        link.num_betas = args.count("num_betas")?.unwrap_or(link.num_betas);
        Ok(Link::aggregated(link))
    },
};

/// A scale of the updates that is learned while training. Built by [`mechanize`].
#[derive(Clone, Debug)]
pub struct Mechanize<T> {
    inner: T,
    weight_decay: Hyper,
    eps: Hyper,
    s_init: f64,
    num_betas: usize,
}

/// Adds up the updates of `inner` and learns by what to multiply the sum: the parameters are `p0 + s * sum`, where `s` grows while
/// the gradient points against the sum. Use `inner` with its schedule, and with 1 as its learning rate.
///
/// `s` is a sum over `num_betas` learners that forget at the rates 0.9, 0.99, and so on. Defaults are optax's: weight decay 0.01,
/// eps 1e-8, s_init 1e-6, 6 learners.
///
/// # State
/// `mechanize.p0`, in the shape of the parameters: the parameters at the first step. Four numbers for each learner, from 1 on:
/// `.s1`, `.m1`, `.v1`, `.r1`. The metric `mechanize.s` is the scale.
///
/// # Errors
/// `weight_decay` and `eps` must be finite and not negative, `s_init` finite and above 0; at least 1 learner, at most 15.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), mechanize(adam(1.0))))).is_ok());
/// ```
///
/// # Reference
/// Cutkosky, Defazio, Mehta, 2023, arXiv 2306.00144, algorithm 1, with the bound on the products that optax has.
pub fn mechanize<T>(inner: T) -> Mechanize<T> {
    Mechanize {
        inner,
        weight_decay: 1e-2.into(),
        eps: 1e-8.into(),
        s_init: 1e-6,
        num_betas: 6,
    }
}

impl<T> Mechanize<T> {
    hyper_setters! {
        /// A share of the parameters added to the gradients that the scale learns from, relative to the norms of both.
        weight_decay;
        /// A number added to divisors.
        eps;
    }

    /// The scale of each learner before the first step.
    #[must_use]
    pub fn s_init(mut self, s_init: f64) -> Self {
        self.s_init = s_init;
        self
    }

    /// The number of learners.
    #[must_use]
    pub fn num_betas(mut self, num_betas: usize) -> Self {
        self.num_betas = num_betas;
        self
    }

    fn check(&self, cx: &Tracer) {
        let fail = |name: &str, expected: &str, got: String| {
            cx.fail(Error::Hyper {
                name: format!("mechanize.{name}"),
                expected: expected.to_owned(),
                got,
            });
        };
        if !(self.s_init.is_finite() && self.s_init > 0.0) {
            fail("s_init", "a finite number above 0", self.s_init.to_string());
        }
        // From 16 on, 1 - 0.1^n is 1 in f64: a learner that never forgets.
        if !(1..=15).contains(&self.num_betas) {
            let got = self.num_betas.to_string();
            fail("num_betas", "a whole number from 1 to 15", got);
        }
    }
}

type Scalar = Value<Aggregated, Global>;

/// A learner: its scale after `h`, the product of the gradient with the sum of the updates. Gives its scale before, and after.
struct Learner<'a> {
    h: &'a Scalar,
    eps: &'a Scalar,
    /// The share of the first scale that it has.
    start: f64,
    s_init: f64,
}

impl Learner<'_> {
    fn learn(&self, number: usize, s: &Scalar, cx: &Tracer) -> Scalar {
        let field = |name: &str| format!("{name}{number}");
        let beta = 1.0 - 0.1_f64.powi(i32::try_from(number).unwrap_or(i32::MAX));
        let m = cx.slot::<Global>(&field("m"), 0.0);
        let clipped = self.h.max(-m.before()).min(m.before());
        let most = (m.before() * beta).max(self.h.abs() + self.eps);
        cx.set(m, &most);
        let v = cx.state::<Global>(&field("v"), 0.0, |v| v * (beta * beta) + self.h.square());
        let r = cx.state::<Global>(&field("r"), 0.0, |r| r * beta + clipped * s);
        let wealth = most * (self.s_init * self.start) + r.max(0.0);
        wealth / (v.sqrt() + self.eps)
    }
}

impl<In, T> Transform<In> for Mechanize<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    #[allow(clippy::cast_precision_loss)] // a few learners
    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        self.check(cx);
        let x = x.reduced();
        let weight_decay = cx.hyper("weight_decay", &self.weight_decay, Domain::NonNegative);
        let eps = cx.hyper("eps", &self.eps, Domain::NonNegative);
        let params = cx.params();
        let first = cx.step().equal(0.0);
        let p0 = cx.state::<Leaf>("p0", 0.0, |p0| first.select(&params, p0));
        let scales: Vec<_> = (1..=self.num_betas)
            .map(|number| cx.slot::<Global>(&format!("s{number}"), self.s_init))
            .collect();
        let sum = |scales: &[Scalar]| {
            let zero = cx.constant(0.0);
            scales.iter().fold(zero, |sum, s| sum + s)
        };
        let before: Vec<Scalar> = scales.iter().map(|s| s.before()).collect();
        let total = sum(&before);
        let share = weight_decay * &total * x.norm() / (params.norm() + &eps);
        let decayed = &x + &params * share;
        let past = (&p0 - &params) / (total + &eps);
        let h = (decayed * &past).sum_elements().sum_leaves();
        let learner = Learner {
            h: &h,
            eps: &eps,
            start: 1.0 / self.num_betas as f64,
            s_init: self.s_init,
        };
        let after: Vec<Scalar> = (before.iter().enumerate())
            .map(|(at, s)| learner.learn(at + 1, s, cx))
            .collect();
        for (slot, next) in scales.into_iter().zip(&after) {
            cx.set(slot, next);
        }
        let scale = sum(&after);
        cx.emit("s", &scale);
        let step = cx.apply(&self.inner, x);
        // The two large terms first, whose difference is 0 as long as nothing has moved.
        (p0 - params - (past - step) * scale).as_input()
    }
}
