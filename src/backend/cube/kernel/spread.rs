//! How work is spread over the threads of a device.

use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::plan::Columns;
use crate::kernel::{Code, Instruction};

/// Threads of a group, at most.
const GROUP: usize = 256;
/// Threads that a device should have, before rows are shared among them.
pub(super) const BUSY: usize = 1 << 17;
/// Bytes that the threads of a group share, at most.
const SHARED: usize = 32 << 10;
/// Vectors of a stretch that one thread adds up, at most.
pub(super) const STRETCH: usize = 64;

/// What of a device decides how work is spread.
pub(super) struct Device {
    /// Threads of a group, at most.
    group: usize,
    /// Whether threads are many and light.
    is_gpu: bool,
}

impl Device {
    pub(super) fn of(x: &CubeTensor) -> Self {
        let hardware = &x.client.properties().hardware;
        let most = usize::try_from(hardware.max_units_per_cube).unwrap_or(GROUP);
        Self {
            group: most.clamp(1, GROUP),
            is_gpu: hardware.num_cpu_cores.is_none(),
        }
    }

    /// How a kernel over columns is spread: the threads of a group share rows where columns alone would leave the device idle.
    pub(super) fn spread(
        &self,
        mut plan: Columns,
        threads: usize,
        examples: usize,
        bytes: usize,
    ) -> Columns {
        let sorts = plan.kernel.code.iter().any(sorts);
        let reduces = plan
            .sweeps
            .iter()
            .any(|sweep| !sweep.over_examples.is_empty());
        let rows = (0..plan.sweeps.len()).any(|sweep| plan.has_rows(sweep));
        let shared = |parts: usize| plan.reductions() * self.group * bytes * usize::from(parts > 1);
        let mut parts = 1;
        if rows && !sorts {
            let most = if self.is_gpu { 32 } else { self.group };
            while 2 * parts <= most.min(self.group)
                && parts * 4 <= examples
                && threads * parts < BUSY
                && (!reduces || shared(2 * parts) <= SHARED)
                && (self.is_gpu || threads < self.group)
            {
                parts *= 2;
            }
        }
        plan.parts = parts;
        plan.lanes = (self.group / parts).max(1);
        plan
    }

    /// Into how many stretches the rows are cut.
    pub(super) fn chunks(&self, plan: &Columns, threads: usize, examples: usize) -> usize {
        let busy = if self.is_gpu { BUSY } else { self.group };
        let idle = busy / (threads * plan.parts).max(1);
        // No device takes more groups in the third dimension.
        idle.min(examples / (plan.parts * 64)).clamp(1, 65_535)
    }

    /// Threads of a group that share a row: a power of two.
    pub(super) fn threads_of_row(&self, width: usize) -> usize {
        let most = width.next_power_of_two().min(self.group);
        1 << most.ilog2()
    }
}

fn sorts(instruction: &Instruction) -> bool {
    matches!(instruction.code, Code::OverExamples(reduce, _) if reduce.sorts())
}

/// Groups in two dimensions, as many as a device takes in one.
pub(super) fn grid(client: &Client, groups: usize) -> [u32; 2] {
    let most = client.properties().hardware.max_cube_count.0;
    let x = groups
        .min(usize::try_from(most).unwrap_or(usize::MAX))
        .min(1 << 15);
    [narrow(x), narrow(groups.div_ceil(x))]
}

pub(super) fn narrow(x: usize) -> u32 {
    u32::try_from(x).expect("a device runs fewer than 2^32 groups")
}
