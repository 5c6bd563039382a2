//! A batch that is spread over several devices.
//!
//! Every device has a replica of the model and of the optimizer (with noise, of one seed: the default one is another each time), and captures the gradients of its part of the batch. What the chain takes
//! of each part ([`Optimizer::accumulate`]) is [merged over the devices](Accumulated::all_reduce); then every device takes
//! the same step. Nothing else travels: for each reduction of the chain one tensor of the size of the model, whatever the number
//! of examples.
//!
//! [`Collective`] is what must be there between the devices. [`BurnCollective`] is burn's own, on the devices that have it: CUDA,
//! through NCCL. [`Threads`] is one for replicas in the threads of one process, on any device.

use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};

use burn::tensor::distributed::{ReduceOperation, all_reduce};
use burn::tensor::{DType, Device, Tensor, TensorData};
use pergrad_transforms::program::Merge;

#[cfg(doc)]
use crate::Optimizer;
use crate::backend::has_collectives;
use crate::capture::numbers;
use crate::error::Error;
use crate::exec::merge::merge;
use crate::model::full;
use crate::optimizer::Accumulated;

/// Sums over the devices that share a batch.
pub trait Collective {
    /// How many devices there are.
    fn devices(&self) -> usize;

    /// Which of them this is, from 0.
    fn rank(&self) -> usize;

    /// The sum of what all devices give, `[R, C]` of the same shape and dtype from each. Every device calls it equally often and
    /// in the same order, and gets the same result.
    fn sum(&self, x: Tensor<2>) -> Tensor<2>;
}

/// burn's collective operations.
///
/// # Example
/// On a machine with two CUDA devices, in the thread of the first one:
/// ```
/// use burn::tensor::Device;
/// use pergrad::distributed::BurnCollective;
///
/// let devices = [Device::default(), Device::default()]; // Device::cuda(0), Device::cuda(1)
/// match BurnCollective::new(&devices, 0) {
///     Ok(_collective) => { /* batch.all_reduce(&collective) */ }
///     Err(error) => assert!(error.to_string().contains("no collective operations")),
/// }
/// ```
#[derive(Clone, Debug)]
pub struct BurnCollective {
    devices: Vec<Device>,
    rank: usize,
}

impl BurnCollective {
    /// The collective of these devices, for the one at this position.
    ///
    /// # Errors
    /// A device between which and others burn has no collective operations, or a position beyond the last one.
    pub fn new(devices: &[Device], rank: usize) -> Result<Self, Error> {
        if rank >= devices.len() {
            let devices = devices.len();
            return Err(Error::Rank { rank, devices });
        }
        if let Some(device) = devices.iter().find(|device| !has_collectives(device)) {
            let device = format!("{device:?}");
            return Err(Error::NoCollective { device });
        }
        Ok(Self {
            devices: devices.to_vec(),
            rank,
        })
    }
}

impl Collective for BurnCollective {
    fn devices(&self) -> usize {
        self.devices.len()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn sum(&self, x: Tensor<2>) -> Tensor<2> {
        all_reduce(x, ReduceOperation::Sum, self.devices.clone()).resolve()
    }
}

/// Replicas in the threads of one process. The sum is taken in the order of the ranks. A thread that does not come leaves the others
/// waiting.
///
/// # Example
/// ```
/// use burn::tensor::{DType, Device, Tensor, TensorData};
/// use pergrad::distributed::{Collective, Threads};
///
/// let sums: Vec<f32> = std::thread::scope(|scope| {
///     let threads = Threads::of(2).into_iter().map(|it| {
///         scope.spawn(move || it.sum(Tensor::full([1, 1], it.rank() as f32 + 1.0, &Device::default())).into_scalar())
///     });
///     threads.collect::<Vec<_>>().into_iter().map(|it| it.join().unwrap()).collect()
/// });
/// assert_eq!(sums, [3.0, 3.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Threads {
    rank: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    given: Mutex<Vec<Option<Tensor<2>>>>,
    all: Barrier,
}

impl Shared {
    fn given(&self) -> MutexGuard<'_, Vec<Option<Tensor<2>>>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// One for each of so many threads.
    pub fn of(count: usize) -> Vec<Self> {
        let shared = Arc::new(Shared {
            given: Mutex::new(vec![None; count]),
            all: Barrier::new(count),
        });
        let each = |rank| Self {
            rank,
            shared: shared.clone(),
        };
        (0..count).map(each).collect()
    }
}

impl Collective for Threads {
    fn devices(&self) -> usize {
        self.shared.given().len()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn sum(&self, x: Tensor<2>) -> Tensor<2> {
        let device = x.device();
        self.shared.given()[self.rank] = Some(x);
        self.shared.all.wait();
        let given = self.shared.given().clone().into_iter();
        let given = given.map(|x| x.expect("every thread has given").to_device(&device));
        let sum = given.reduce(|sum, x| sum + x).expect("one thread at least");
        // Nobody gives anew before everybody has taken.
        self.shared.all.wait();
        sum
    }
}

impl Accumulated {
    /// What all devices have accumulated, merged in the order of the devices: the same on each of them, to the last bit. The metrics of
    /// examples stay those of this device.
    ///
    /// Every device calls it, with the same chain at the same step, and has examples enough for its reductions: a collective waits for all.
    /// A step with what it gives is the step of the whole batch. It reads the numbers of examples back from the device.
    ///
    /// # Errors
    /// Replicas that differ in chain, seed, hyper-parameters, step or model; then each device has this error. Numbers of examples that could
    /// not be read back.
    pub fn all_reduce(mut self, over: &impl Collective) -> Result<Self, Error> {
        let (devices, rank) = (over.devices(), over.rank());
        let device = self.device().clone();
        if devices < 2 {
            return Ok(self);
        }
        // What every device gives, a row for each: the sum of tensors that are zero but for one row.
        let gather = |x: Tensor<2>| {
            let [_, columns] = x.dims();
            let rows = full(0.0, [devices, columns], &x.device(), x.dtype());
            if columns == 0 {
                return rows;
            }
            over.sum(rows.slice_assign([rank..=rank, 0..=columns - 1], x))
        };
        // In f32, whatever the device prefers: it holds 24 bits exactly, and so many examples.
        #[allow(clippy::cast_precision_loss)]
        let mine = {
            let replica = self.replica();
            let halves = [replica & 0xff_ffff, (replica >> 24) & 0xff_ffff];
            let row = [self.examples as f32, halves[0] as f32, halves[1] as f32];
            Tensor::<2>::from_data(TensorData::new(row.to_vec(), [1, 3]), (&device, DType::F32))
        };
        let rows = numbers(gather(mine).to_data())?;
        let differs = |row: &[f64]| row[1..] != rows[1..3];
        if let Some(rank) = rows.chunks(3).position(differs) {
            return Err(Error::OtherReplica { rank });
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
        let counts: Vec<usize> = rows.chunks(3).map(|row| row[0] as usize).collect();

        let mut gathered: Vec<(Merge, Vec<Vec<Tensor<2>>>)> = Vec::new();
        let mut summed = Vec::new();
        for (merge, values) in self.merges.iter().zip(std::mem::take(&mut self.values)) {
            if *merge == Merge::Sum {
                let sum = |x: Tensor<2>| if x.dims()[1] == 0 { x } else { over.sum(x) };
                summed.push(values.into_iter().map(sum).collect());
                continue;
            }
            let rows: Vec<Tensor<2>> = values.into_iter().map(gather).collect();
            let of = |rank: usize| rows.iter().map(|x| x.clone().narrow(0, rank, 1)).collect();
            gathered.push((*merge, (0..devices).map(of).collect()));
        }
        let merges: Vec<Merge> = gathered.iter().map(|(merge, _)| *merge).collect();
        let of = |rank: usize| {
            gathered
                .iter()
                .map(|(_, ranks)| ranks[rank].clone())
                .collect()
        };
        let mut joined: Vec<Vec<Tensor<2>>> = of(0);
        for rank in 1..devices {
            let sizes = [counts[..rank].iter().sum(), counts[rank]];
            joined = merge(&merges, sizes, joined, of(rank));
        }
        let (mut summed, mut joined) = (summed.into_iter(), joined.into_iter());
        let values = self.merges.iter().map(|merge| {
            let from = match merge {
                Merge::Sum => summed.next(),
                _ => joined.next(),
            };
            from.expect("one for each")
        });
        self.values = values.collect();
        self.examples = counts.iter().sum();
        Ok(self)
    }
}
