//! Launching: where tensors are bound, and how many threads run.

use burn::tensor::{DType, Shape};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::{AddressType, ElemType, FloatKind, UIntKind};
use cubecl::prelude::*;
use cubecl::tensor_vector_size_parallel;

use super::super::super::Held;
use super::columns::over_columns;
use super::folds::over_rows;
use super::plan::{Columns, Place};
use crate::kernel::{Code, Instruction, Kernel, Reach};

/// Threads of a group, at most.
const GROUP: usize = 256;
/// Threads that a device should have, before rows are shared among them.
const BUSY: usize = 1 << 17;
/// Bytes that the threads of a group share, at most.
const SHARED: usize = 32 << 10;
/// Vectors of a stretch that one thread adds up, at most.
const STRETCH: usize = 64;

/// What a kernel reads, and how.
struct Read<'a> {
    scalars: &'a [f64],
    /// Every one with its reach, in rows of contiguous numbers.
    inputs: Vec<(Held<CubeTensor>, Reach)>,
    dtype: DType,
    /// Whether results may overwrite inputs that nobody else holds.
    in_place: bool,
}

/// Runs a kernel over B examples and P columns, neither of them 0. A row among the inputs that nobody else holds may be overwritten by a
/// result.
pub(in super::super) fn run(
    kernel: &Kernel,
    scalars: &[f64],
    inputs: Vec<Held<CubeTensor>>,
    sides: [usize; 2],
    dtype: DType,
) -> Vec<CubeTensor> {
    let inputs = inputs.into_iter().enumerate();
    let inputs = inputs.map(|(at, x)| {
        let reach = kernel.input_reach(at).unwrap_or(Reach::One);
        (readable(x), reach)
    });
    let apart = kernel.apart(inputs.len());
    let mut read = Read {
        scalars,
        inputs: inputs.collect(),
        dtype,
        // Reductions over elements read them afterwards.
        in_place: apart.folds.is_none(),
    };
    let results = match &apart.columns {
        Some(kernel) => read.columns(kernel, sides),
        None => Vec::new(),
    };
    let mut folded = Vec::new().into_iter();
    if let Some(folds) = &apart.folds {
        let further = apart
            .needs
            .iter()
            .map(|&at| (Held::Matrix(results[at].clone()), Reach::Row));
        read.inputs.extend(further);
        folded = read.folds(folds, sides).into_iter();
    }
    let mut results = results.into_iter();
    let outputs = kernel.outputs.iter().map(|reg| match kernel.at(*reg).code {
        Code::OverElements(..) => folded.next().expect("one for each"),
        _ => results.next().expect("one for each"),
    });
    outputs.collect()
}

/// The input in a layout that threads can read.
fn readable(input: Held<CubeTensor>) -> Held<CubeTensor> {
    match input {
        Held::Matrix(x) => Held::Matrix(rows_together(x)),
        Held::Product(factors) => Held::Product(factors.map(into_contiguous)),
    }
}

/// Rows of contiguous numbers, at any distance.
fn rows_together(x: CubeTensor) -> CubeTensor {
    let (shape, strides) = (x.meta.shape(), x.meta.strides());
    let within = strides[1] == 1 || shape[1] == 1;
    let between = strides[0] >= shape[1] || shape[0] == 1;
    if within && between {
        x
    } else {
        into_contiguous(x)
    }
}

impl Read<'_> {
    /// A tensor that lies where the results are to lie.
    fn any(&self) -> &CubeTensor {
        match &self.inputs[0].0 {
            Held::Matrix(x) | Held::Product([x, _]) => x,
        }
    }

    /// Where every input is bound.
    fn places(&self) -> Vec<Place> {
        let (mut wide, mut half, mut narrow) = (0, 0, 0);
        let next = |count: &mut usize| {
            *count += 1;
            *count - 1
        };
        let places = self.inputs.iter().map(|(x, reach)| match x {
            Held::Product(_) => Place::Product {
                left: next(&mut narrow),
                right: next(&mut wide),
            },
            Held::Matrix(_) if !reach.has_columns() => Place::Narrow(next(&mut narrow)),
            Held::Matrix(x) if x.dtype == self.dtype => Place::Wide(next(&mut wide)),
            Held::Matrix(_) => Place::Half(next(&mut half)),
        });
        places.collect()
    }

    /// The tensors that are read a vector at a time, with the axis along which they are.
    fn wide(&self) -> impl Iterator<Item = (&CubeTensor, usize)> {
        self.inputs.iter().filter_map(|(x, reach)| match x {
            Held::Product([_, right]) => Some((right, 2)),
            Held::Matrix(x) => reach.has_columns().then_some((x, 1)),
        })
    }

    /// The dtypes of the computation and of inputs in half precision.
    fn types(&self) -> [ElemType; 2] {
        let float = match self.dtype {
            DType::F64 => ElemType::Float(FloatKind::F64),
            _ => ElemType::Float(FloatKind::F32),
        };
        let half = self.wide().find_map(|(x, _)| match x.dtype {
            DType::F16 => Some(ElemType::Float(FloatKind::F16)),
            DType::BF16 => Some(ElemType::Float(FloatKind::BF16)),
            _ => None,
        });
        [float, half.unwrap_or(float)]
    }

    fn bits(&self) -> u32 {
        if self.dtype == DType::F64 { 64 } else { 32 }
    }

    /// How many columns are read at once: as many as every input and output allows.
    fn vector(&self, size: usize) -> usize {
        let client = &self.any().client;
        let inputs = self.wide().map(|(x, axis)| {
            tensor_vector_size_parallel(
                client.io_optimized_vector_sizes(x.dtype.size()),
                x.meta.shape(),
                x.meta.strides(),
                axis,
            )
        });
        let outputs = client
            .io_optimized_vector_sizes(self.dtype.size())
            .filter(|n| size.is_multiple_of(*n))
            .max();
        inputs.chain(outputs).min().unwrap_or(1)
    }

    /// The inputs in the order of their places.
    fn bind<W, L, S>(&self) -> (SequenceArg<W>, SequenceArg<L>, SequenceArg<S>)
    where
        W: LaunchArg<RuntimeArg = TensorArg>,
        L: LaunchArg<RuntimeArg = TensorArg>,
        S: LaunchArg<RuntimeArg = TensorArg>,
    {
        let (mut wide, mut half) = (SequenceArg::new(), SequenceArg::new());
        let mut narrow = SequenceArg::new();
        for ((x, _), place) in self.inputs.iter().zip(self.places()) {
            let arg = |x: &CubeTensor| x.clone().into_tensor_arg();
            match (x, place) {
                (Held::Matrix(x), Place::Wide(_)) => wide.push(arg(x)),
                (Held::Matrix(x), Place::Half(_)) => half.push(arg(x)),
                (Held::Matrix(x), _) => narrow.push(arg(x)),
                (Held::Product([left, right]), _) => {
                    narrow.push(arg(left));
                    wide.push(arg(right));
                }
            }
        }
        (wide, half, narrow)
    }

    fn numbers(&self) -> SequenceArg<InputScalar> {
        let [float, _] = self.types();
        self.scalars
            .iter()
            .map(|&x| InputScalar::new(x, float))
            .collect()
    }

    fn address_type(&self, outputs: &[CubeTensor]) -> AddressType {
        let inputs = self.inputs.iter().cloned().flat_map(|(x, _)| x.into_vec());
        let inputs = inputs.map(|x| x.required_address_type());
        let outputs = outputs.iter().map(CubeTensor::required_address_type);
        inputs.chain(outputs).max().unwrap_or_default()
    }

    /// Rows `[1, P]` that nobody else holds, with their positions among what is bound. A thread reads its columns of them before it writes
    /// any.
    fn free(&self) -> Vec<(CubeTensor, usize)> {
        let places = self.inputs.iter().zip(self.places());
        let free = places.filter_map(|((x, reach), place)| match (x, place) {
            (Held::Matrix(x), Place::Wide(at)) if *reach == Reach::Row => {
                (x.can_mut() && x.is_contiguous_buffer()).then(|| (x.clone(), at))
            }
            _ => None,
        });
        free.collect()
    }

    fn empty(&self, shape: [usize; 2]) -> CubeTensor {
        let like = self.any();
        empty_device_contiguous_dtype(
            like.client.clone(),
            like.device.clone(),
            Shape::new(shape),
            self.dtype,
        )
    }

    /// Everything but reductions over elements.
    fn columns(&self, kernel: &Kernel, sides: [usize; 2]) -> Vec<CubeTensor> {
        let plan = Columns::new(kernel.clone(), self.places(), self.bits());
        let [examples, size] = sides;
        let vector = self.vector(size);
        let device = Device::of(self.any());
        let threads = size / vector;
        let plan = device.spread(plan, threads, examples, vector * self.dtype.size());
        // Too few columns for the device to be busy, however many threads of a group share them.
        let chunks = device.chunks(&plan, threads, examples);
        if chunks > 1
            && let Some((first, second)) = kernel.in_two_stages(self.inputs.len())
        {
            let stage = Columns {
                parts: plan.parts,
                lanes: plan.lanes,
                chunked: true,
                ..Columns::new(first, self.places(), self.bits())
            };
            let partial = self.launch_columns(stage, [examples, size], chunks, vector);
            let inputs = self.inputs.iter().cloned();
            let inputs = inputs.chain(partial.into_iter().map(|x| (Held::Matrix(x), Reach::Full)));
            let read = Read {
                scalars: self.scalars,
                inputs: inputs.collect(),
                dtype: self.dtype,
                in_place: false,
            };
            return read.columns(&second, [chunks, size]);
        }
        self.launch_columns(plan, sides, 1, vector)
    }

    fn launch_columns(
        &self,
        plan: Columns,
        [examples, size]: [usize; 2],
        chunks: usize,
        vector: usize,
    ) -> Vec<CubeTensor> {
        let mut free = match self.in_place && !plan.chunked {
            true => self.free(),
            false => Vec::new(),
        };
        let outputs = plan
            .kernel
            .outputs
            .iter()
            .map(|&reg| match plan.at(reg).reach {
                Reach::Full => (self.empty([examples, size]), None),
                _ => match free.pop() {
                    Some((x, at)) => (x, Some(at)),
                    None => (self.empty([chunks, size]), None),
                },
            });
        let (outputs, in_place): (Vec<CubeTensor>, Vec<Option<usize>>) = outputs.unzip();
        let client = self.any().client.clone();
        let width = size / vector;
        let groups = width.div_ceil(plan.lanes);
        let [x, y] = grid(&client, groups);
        let count = CubeCount::Static(x, y, narrow(chunks));
        let dim = CubeDim::new_2d(narrow(plan.lanes), narrow(plan.parts));
        let [float, half] = self.types();
        let key = if self.bits() == 64 {
            UIntKind::U64
        } else {
            UIntKind::U32
        };
        let address_type = self.address_type(&outputs);
        let mut out = SequenceArg::new();
        for (x, place) in outputs.iter().zip(&in_place) {
            out.push(match place {
                Some(at) => x.as_tensor_alias(*at),
                None => x.clone().into_tensor_arg(),
            });
        }
        let (wide, short, single) = self.bind();
        // SAFETY: every thread reads and writes columns below `width` and rows below `examples`, in tensors that have as many.
        unsafe {
            over_columns::launch_unchecked(
                &client,
                count,
                dim,
                address_type,
                vector,
                wide,
                short,
                single,
                self.numbers(),
                out,
                examples,
                width,
                examples.div_ceil(chunks),
                plan,
                [float, half, ElemType::UInt(key)],
            );
        }
        outputs
    }

    /// Reductions over elements: `[B, 1]` of what differs from example to example, else `[1, 1]`.
    fn folds(&self, kernel: &Kernel, [examples, size]: [usize; 2]) -> Vec<CubeTensor> {
        let mut results: Vec<Option<CubeTensor>> = vec![None; kernel.outputs.len()];
        for rows in [true, false] {
            let of = (0..results.len())
                .filter(|&at| kernel.at(kernel.outputs[at]).reach.has_rows() == rows);
            let of: Vec<usize> = of.collect();
            if of.is_empty() {
                continue;
            }
            let outputs: Vec<_> = of.iter().map(|&at| kernel.outputs[at]).collect();
            let part = kernel.part(&outputs);
            let height = if rows { examples } else { 1 };
            for (at, result) in of.into_iter().zip(self.fold_rows(&part, height, size)) {
                results[at] = Some(result);
            }
        }
        let results = results.into_iter();
        results
            .map(|x| x.expect("of one kind or the other"))
            .collect()
    }

    fn fold_rows(&self, kernel: &Kernel, rows: usize, size: usize) -> Vec<CubeTensor> {
        let vector = self.vector(size);
        let width = size / vector;
        let device = Device::of(self.any());
        let mut plan = Columns::new(kernel.clone(), self.places(), self.bits());
        plan.lanes = device.threads_of_row(width);
        // Shorter stretches where there are few rows, so that the device is busy.
        let groups = (BUSY / plan.lanes).div_ceil(rows).max(1);
        let of_thread = width.div_ceil(plan.lanes * groups).clamp(1, STRETCH);
        let stretch = plan.lanes * of_thread;
        let stretches = width.div_ceil(stretch);
        let outputs: Vec<CubeTensor> = kernel
            .outputs
            .iter()
            .map(|_| self.empty([rows, stretches]))
            .collect();
        let client = self.any().client.clone();
        let [x, y] = grid(&client, rows * stretches);
        let mut out = SequenceArg::new();
        for x in &outputs {
            out.push(x.clone().into_tensor_arg());
        }
        let dim = CubeDim::new_1d(narrow(plan.lanes));
        let address_type = self.address_type(&outputs);
        let (wide, short, single) = self.bind();
        // SAFETY: every thread reads columns below `width` of rows below `rows`, and writes its stretch of them.
        unsafe {
            over_rows::launch_unchecked(
                &client,
                CubeCount::Static(x, y, 1),
                dim,
                address_type,
                vector,
                wide,
                short,
                single,
                self.numbers(),
                out,
                rows,
                width,
                stretch,
                plan,
                self.types(),
            );
        }
        if stretches == 1 {
            return outputs;
        }
        let again = outputs
            .into_iter()
            .zip(&kernel.outputs)
            .map(|(partial, reg)| {
                let Code::OverElements(fold, _) = kernel.at(*reg).code else {
                    unreachable!("these are reductions over elements")
                };
                let read = Read {
                    scalars: &[],
                    inputs: vec![(
                        Held::Matrix(partial),
                        Reach::of([rows, stretches], [rows, stretches]),
                    )],
                    dtype: self.dtype,
                    in_place: false,
                };
                let kernel = Kernel::fold(fold, rows > 1);
                read.fold_rows(&kernel, rows, stretches).remove(0)
            });
        again.collect()
    }
}

/// What of a device decides how work is spread.
struct Device {
    /// Threads of a group, at most.
    group: usize,
    /// Whether threads are many and light.
    is_gpu: bool,
}

impl Device {
    fn of(x: &CubeTensor) -> Self {
        let hardware = &x.client.properties().hardware;
        let most = usize::try_from(hardware.max_units_per_cube).unwrap_or(GROUP);
        Self {
            group: most.clamp(1, GROUP),
            is_gpu: hardware.num_cpu_cores.is_none(),
        }
    }

    /// How a kernel over columns is spread: the threads of a group share rows where columns alone would leave the device idle.
    fn spread(&self, mut plan: Columns, threads: usize, examples: usize, bytes: usize) -> Columns {
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
    fn chunks(&self, plan: &Columns, threads: usize, examples: usize) -> usize {
        let busy = if self.is_gpu { BUSY } else { self.group };
        let idle = busy / (threads * plan.parts).max(1);
        idle.min(examples / (plan.parts * 64)).max(1)
    }

    /// Threads of a group that share a row: a power of two.
    fn threads_of_row(&self, width: usize) -> usize {
        let most = width.next_power_of_two().min(self.group);
        1 << most.ilog2()
    }
}

fn sorts(instruction: &Instruction) -> bool {
    matches!(instruction.code, Code::OverExamples(reduce, _) if reduce.sorts())
}

/// Groups in two dimensions, as many as a device takes in one.
fn grid(client: &Client, groups: usize) -> [u32; 2] {
    let most = client.properties().hardware.max_cube_count.0;
    let x = groups
        .min(usize::try_from(most).unwrap_or(usize::MAX))
        .min(1 << 15);
    [narrow(x), narrow(groups.div_ceil(x))]
}

fn narrow(x: usize) -> u32 {
    u32::try_from(x).expect("a device runs fewer than 2^32 groups")
}
