//! The random numbers of a program.

use serde::{Deserialize, Serialize};

use super::{Graph, NodeId, Op, Program, SlotId};
use crate::error::Error;
use crate::extent::ExtentKind;
use crate::program::graph::index_u32;
use crate::random::{Key, Seed, normals};

/// Standard normal numbers, other ones at each step: what [`Op::Normal`] gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// `"link.field"`.
    pub name: String,
    /// Over elements, for each leaf, or for all leaves.
    pub extent: ExtentKind,
    /// What the numbers are made from, by [`random::normals`](crate::random::normals).
    pub key: Key,
    /// The slot that counts the steps; nothing for the step count of the program. Links whose steps may be skipped have a count of
    /// their own, so that a skipped step uses no numbers up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<SlotId>,
}

/// Counts of the device are kept in f32, which stays at this one.
const LAST_IN_F32: f64 = 16_777_216.0;

impl Graph {
    pub(crate) fn normal(&mut self, field: &str, seed: &Seed, extent: ExtentKind) -> NodeId {
        let extent = self.extent_here(extent);
        let count = self.lasting_count_slot();
        let streams = &self.program.streams;
        let name = self.unique(field, |name| streams.iter().any(|s| s.name == name));
        let at = index_u32(streams.len());
        let key = seed.key(at.into());
        self.program.streams.push(Stream {
            name,
            extent,
            key,
            count,
        });
        self.push(Op::Normal(at))
    }
}

impl Program {
    /// For each stream the count at a step, where the host knows what some slots hold before the step:
    /// [its own](Self::host_slots), and [those it must read](Self::slots_to_read).
    ///
    /// # Errors
    /// [`Error::NoiseCount`] if a count is not known, or if the device can count no further, so that noise would repeat.
    pub fn stream_counts(&self, step: u64, slots: &[Option<f64>]) -> Result<Vec<u64>, Error> {
        let count = |stream: &Stream| {
            let Some(at) = stream.count else {
                return Ok(step);
            };
            let fail = |reason| Error::NoiseCount {
                name: stream.name.clone(),
                count: self.slots()[at as usize].name.clone(),
                reason,
            };
            match slots.get(at as usize).copied().flatten() {
                None => Err(fail("is not known to this executor")),
                Some(count) if count >= LAST_IN_F32 && !self.host_slots()[at as usize] => {
                    Err(fail("has reached 2^24, where f32 ends"))
                }
                Some(count) => Ok(whole(count)),
            }
        };
        self.streams().iter().map(count).collect()
    }

    /// The normal numbers of a stream that are not for elements: a host scalar (for each leaf).
    pub(super) fn host_normals(
        &self,
        stream: &Stream,
        step: u64,
        slots: &[Option<f64>],
        leaves: usize,
    ) -> Option<Vec<f64>> {
        let count = match stream.count {
            None => step,
            Some(at) => whole(slots.get(at as usize).copied().flatten()?),
        };
        let number = |leaf: usize| normals(&stream.key, count, leaf, 0..1)[0];
        match stream.extent {
            ExtentKind::PerLeaf => Some((0..leaves.max(1)).map(number).collect()),
            ExtentKind::Global => Some(vec![number(0)]),
            _ => None,
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts are whole and not negative
fn whole(count: f64) -> u64 {
    count as u64
}
