//! Launching.

use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;

use super::super::super::Held;
use super::columns::over_columns;
use super::folds::over_rows;
use super::plan::Columns;
use super::read::{Read, readable};
use super::spread::{BUSY, Device, STRETCH, grid, narrow};
use crate::kernel::{Code, Kernel, Reach};

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

impl Read<'_> {
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
