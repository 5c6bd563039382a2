//! A schedule of the library as one of ours.

use pergrad::transforms::schedule::Schedule;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::convert::Unsupported;
use super::golden::Call;

/// The serde data of our schedule: the same arguments beside the name.
pub(crate) fn data(call: &Call) -> Result<Value, Unsupported> {
    schedule(call)?;
    Ok(fields(call))
}

/// Our schedule.
pub(crate) fn schedule(call: &Call) -> Result<Schedule, Unsupported> {
    Schedule::deserialize(fields(call)).map_err(|error| {
        let error = error.to_string();
        let reason = error.split(", expected").next().unwrap_or(&error);
        Unsupported::new(&call.kind, format!("no such schedule: {reason}"))
    })
}

fn fields(call: &Call) -> Value {
    let mut fields: Map<String, Value> = call.args.clone().into_iter().collect();
    if let Some(Value::Array(parts)) = fields.get_mut("schedules") {
        for part in parts {
            // What is no schedule stays, for the error of the one around it.
            if let Ok(of) = Call::deserialize(&*part) {
                *part = self::fields(&of);
            }
        }
    }
    fields.insert("schedule".to_owned(), call.kind.clone().into());
    Value::Object(fields)
}
