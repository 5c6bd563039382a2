//! The functions of the library that take per-example gradients, as chains.

use pergrad::transforms::AxisKind;
use pergrad::transforms::spec::{ArgumentValue, Catalogue, ChainSpec, LinkSpec};

use super::convert::{Plan, Unsupported};
use super::golden::Call;
use super::link;

/// The name under which the weights of the examples are given.
pub(crate) const WEIGHTS: &str = "weights";

const NUM_CLIPPED: &str = "clip_per_example.num_clipped";

type Links = Result<Vec<LinkSpec>, Unsupported>;

/// The plan for a function over per-example gradients; nothing for one over aggregated gradients.
pub(crate) fn plan(call: &Call, catalogue: &Catalogue) -> Option<Result<Plan, Unsupported>> {
    let plan = match call.kind.as_str() {
        "per_example_chain" => over_examples(per_example_chain(call, catalogue)),
        "adam_second_moment" => over_examples(adam_second_moment(call)),
        "per_example_global_norm_clip" => over_examples(global_norm_clip(call))
            .map(|plan| plan.metric("num_clipped", NUM_CLIPPED, None)),
        "per_example_layer_norm_clip" => over_examples(layer_norm_clip(call))
            .map(|plan| plan.metric("num_clipped", NUM_CLIPPED, None)),
        "differentially_private_aggregate" => over_examples(private_aggregate(call)),
        "dpsgd" => over_examples(dpsgd(call, catalogue)),
        "jax_privacy_clip_pytree" => over_examples(clip_pytree(call)).map(norms),
        "jax_privacy_clipped_fun" => clipped_fun(call).map(norms),
        "accumulate_mean" => over_examples(accumulate_mean(call, catalogue)),
        "add_mean_variance_to_opt" => mean_and_variance(call, catalogue),
        _ => return None,
    };
    Some(plan)
}

fn over_examples(links: Links) -> Result<Plan, Unsupported> {
    Ok(Plan::new(AxisKind::PerExample, links?))
}

fn per_example_chain(call: &Call, catalogue: &Catalogue) -> Links {
    call.only(&["links"])?;
    let mut links = Vec::new();
    for call in call.calls("links")? {
        links.extend(match call.kind.as_str() {
            "vmap" => {
                call.only(&["inner"])?;
                each(&call.call("inner")?, catalogue)?
            }
            "reduce" => reduce(&call)?,
            _ => link::links(&call, catalogue)?,
        });
    }
    Ok(links)
}

/// A transformation of the library on each example.
fn each(inner: &Call, catalogue: &Catalogue) -> Links {
    match inner.kind.as_str() {
        "clip_by_global_norm" => {
            inner.only(&["max_norm"])?;
            Ok(vec![clip(inner.number("max_norm")?)])
        }
        "normalize_by_update_norm" => {
            inner.only(&["eps", "scale_factor"])?;
            let normalize =
                LinkSpec::new("normalize_per_example").with("eps", inner.number("eps")?);
            Ok(vec![normalize, scale(inner.number("scale_factor")?)])
        }
        kind => {
            let links = link::links(inner, catalogue)?;
            for spec in &links {
                let link = catalogue
                    .link(spec)
                    .map_err(|error| Unsupported::new(kind, error.to_string()))?;
                if link.out(AxisKind::PerExample) != Some(AxisKind::PerExample) {
                    return Err(Unsupported::new(
                        format!("vmap {kind}"),
                        "it keeps state or a norm in the shape of the parameters; one state for each example is refused by design, because the examples of the next batch are other ones",
                    ));
                }
            }
            Ok(links)
        }
    }
}

/// A reduction over the examples.
pub(crate) fn reduce(call: &Call) -> Links {
    call.only(&["op", "k"])?;
    let op = call.text("op")?;
    let of_each = |each: &str| vec![LinkSpec::new(each), LinkSpec::new("mean")];
    let variance = |ddof: f64| vec![LinkSpec::new("variance").with("ddof", ddof)];
    Ok(match op.as_str() {
        "mean" | "sum" | "median" | "max" | "min" => vec![LinkSpec::new(op)],
        "mean_square" => of_each("square"),
        "mean_abs" => of_each("abs"),
        "mean_sign" => of_each("sign"),
        "variance_ddof0" => variance(0.0),
        "variance_ddof1" => variance(1.0),
        "trimmed_mean" => vec![LinkSpec::new(op).with("k", call.number("k")?)],
        _ => {
            let kind = format!("reduce {op}");
            return Err(Unsupported::new(kind, "there is no such reduction"));
        }
    })
}

fn adam_second_moment(call: &Call) -> Links {
    call.only(&["b1", "b2", "eps", "learning_rate", "second_moment"])?;
    let arguments = |name: &str| -> Result<LinkSpec, Unsupported> {
        let names = ["b1", "b2", "eps", "learning_rate"];
        names.iter().try_fold(LinkSpec::new(name), |link, name| {
            Ok(link.with(*name, call.number(name)?))
        })
    };
    Ok(match call.text("second_moment")?.as_str() {
        "square_of_mean" => vec![LinkSpec::new("mean"), arguments("adam")?],
        "mean_square" => vec![arguments("micro_adam")?],
        "variance_ddof1" => vec![arguments("micro_adam_var")?],
        "variance_ddof0" => {
            let variance = [
                ("link".to_owned(), ArgumentValue::from("variance")),
                ("ddof".to_owned(), ArgumentValue::from(0.0)),
            ];
            let variance = ArgumentValue::Table(variance.into());
            let mut adam = arguments("adam_with_second_moment")?;
            let statistic = ArgumentValue::List(vec![variance]);
            adam.arguments.insert("statistic".to_owned(), statistic);
            vec![adam]
        }
        other => {
            let kind = format!("adam_second_moment {other}");
            return Err(Unsupported::new(kind, "there is no such statistic"));
        }
    })
}

fn global_norm_clip(call: &Call) -> Links {
    call.only(&["l2_norm_clip"])?;
    let bound = call.number("l2_norm_clip")?;
    Ok(vec![clip(bound), LinkSpec::new("sum")])
}

fn layer_norm_clip(call: &Call) -> Links {
    call.only(&["global_l2_norm_clip", "uniform"])?;
    let over = match call.flag("uniform")? {
        true => "leaves",
        false => "leaves_by_size",
    };
    let clip = clip(call.number("global_l2_norm_clip")?).with("over", over);
    Ok(vec![clip, LinkSpec::new("sum")])
}

/// Clipping and the mean, without noise.
fn private_aggregate(call: &Call) -> Links {
    call.only(&["l2_norm_clip", "noise_multiplier"])?;
    if call.number("noise_multiplier")? != 0.0 {
        let kind = format!("{} with noise", call.kind);
        return Err(Unsupported::new(kind, "we have no noise"));
    }
    let bound = call.number("l2_norm_clip")?;
    Ok(vec![clip(bound), LinkSpec::new("mean")])
}

fn dpsgd(call: &Call, catalogue: &Catalogue) -> Links {
    let (mut aggregate, mut sgd) = (call.clone(), call.clone());
    "sgd".clone_into(&mut sgd.kind);
    let private = |name: &String| name == "l2_norm_clip" || name == "noise_multiplier";
    aggregate.args.retain(|name, _| private(name));
    sgd.args.retain(|name, _| !private(name));
    let mut links = private_aggregate(&aggregate)?;
    links.extend(link::links(&sgd, catalogue)?);
    Ok(links)
}

fn clip_pytree(call: &Call) -> Links {
    call.only(&["clip_norm", "rescale_to_unit_norm"])?;
    privacy_clip(call, "clip_norm")
}

/// Microbatches change only the order of the sum.
fn clipped_fun(call: &Call) -> Result<Plan, Unsupported> {
    call.only(&[
        "is_padding_example",
        "l2_clip_norm",
        "microbatch_size",
        "nan_safe",
        "normalize_by",
        "rescale_to_unit_norm",
    ])?;
    let mut links = privacy_clip(call, "l2_clip_norm")?;
    if call.flag("nan_safe")? {
        let clip = links.iter_mut().find(|l| l.link == "clip_per_example");
        let clip = clip.ok_or_else(|| call.refuse("nan_safe", &true.into()))?;
        *clip = clip.clone().with("drop_nonfinite", true);
    }
    let padding = match call.args.get("is_padding_example") {
        None => None,
        Some(value) => {
            let padding: Vec<bool> = serde_json::from_value(value.clone())
                .map_err(|_| call.refuse("is_padding_example", value))?;
            links.push(LinkSpec::new("scale_per_example").with("weights", WEIGHTS));
            let weight = |padding: bool| if padding { 0.0 } else { 1.0 };
            Some(padding.into_iter().map(weight).collect())
        }
    };
    links.push(LinkSpec::new("sum"));
    links.push(scale(1.0 / call.number("normalize_by")?));
    let mut plan = over_examples(Ok(links))?;
    plan.weights = padding;
    Ok(plan)
}

/// The norms are reported as they come in. Rescaled to unit norm, an example of length n becomes one of length
/// min(1, n / bound): at bound 0 that is 1.
fn privacy_clip(call: &Call, bound: &str) -> Links {
    let rescale = call.flag("rescale_to_unit_norm")?;
    let bound = call.number(bound)?;
    let mut links = vec![LinkSpec::new("measure").with("what", "norms")];
    match (rescale, bound) {
        (false, _) => links.push(clip(bound)),
        (true, 0.0) => links.push(LinkSpec::new("normalize_per_example")),
        (true, _) if (1.0 / bound).is_normal() => links.extend([clip(bound), scale(1.0 / bound)]),
        (true, _) => {
            let kind = format!("{} with rescale_to_unit_norm", call.kind);
            let reason = format!("1 / {bound} is no scale");
            return Err(Unsupported::new(kind, reason));
        }
    }
    Ok(links)
}

/// jax_privacy casts the norms to f32.
fn norms(plan: Plan) -> Plan {
    plan.metric("norms", "measure.value", Some(f64::from(f32::EPSILON)))
}

fn one_micro_batch(call: &Call) -> Result<(), Unsupported> {
    if call.number("accumulation_steps")? == 1.0 {
        return Ok(());
    }
    let kind = format!("{} over several micro-batches", call.kind);
    let reason = "no statistic over the examples of several micro-batches";
    Err(Unsupported::new(kind, reason))
}

fn accumulate_mean(call: &Call, catalogue: &Catalogue) -> Links {
    call.only(&["accumulation_steps", "inner"])?;
    one_micro_batch(call)?;
    let mut links = vec![LinkSpec::new("mean")];
    links.extend(link::links(&call.call("inner")?, catalogue)?);
    Ok(links)
}

/// The averages that are tracked beside the optimizer are chains of their own.
fn mean_and_variance(call: &Call, catalogue: &Catalogue) -> Result<Plan, Unsupported> {
    call.only(&["accumulation_steps", "ema_decay", "opt"])?;
    one_micro_batch(call)?;
    let ema = LinkSpec::new("ema").with("decay", call.number("ema_decay")?);
    let average = |statistic: LinkSpec| ChainSpec::from_iter([statistic, ema.clone()]);
    let mut links = vec![LinkSpec::new("mean")];
    links.extend(link::links(&call.call("opt")?, catalogue)?);
    let mut plan = over_examples(Ok(links))?;
    plan.companions = vec![
        ("mean_ema", average(LinkSpec::new("mean"))),
        (
            "variance_ema",
            average(LinkSpec::new("variance").with("ddof", 1.0)),
        ),
    ];
    Ok(plan)
}

fn clip(bound: f64) -> LinkSpec {
    LinkSpec::new("clip_per_example").with("max_norm", bound)
}

fn scale(by: f64) -> LinkSpec {
    LinkSpec::new("scale").with("step_size", by)
}
