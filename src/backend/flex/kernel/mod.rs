//! Kernels on the CPU: one pass over memory, tile by tile, the tiles in parallel.
//!
//! A tile is so narrow that what it computes stays in cache: the buffers of the instructions in the first level, and the rows of the
//! tile in the second where there are several sweeps. Tiles are grouped into a fixed number of parts, whatever the number of
//! threads, so that results do not depend on it.

mod loops;
mod product;
mod sum;
mod tile;

use std::ops::Range;

use burn::backend::{Element, TensorMetadata};
use burn::tensor::{DType, Shape, TensorData};
use burn_flex::FlexTensor;
use bytemuck::Pod;
use num_traits::Float;
use pergrad_transforms::program::Fold;
use rayon::prelude::*;

use super::super::Held;
use crate::kernel::{Code, Kernel, Reach, Reg, Sweep, sweeps};
use product::Product;
use tile::{Buffers, Input, Partial};

/// The element types of a kernel.
pub(super) trait Number: Element + Float + Pod + Send + Sync {}
impl Number for f32 {}
impl Number for f64 {}

/// Into how many parts the tiles are grouped.
const PARTS: usize = 64;
/// Rows that one thread sweeps, where few columns leave threads idle.
const ROWS_TO_SPLIT: usize = 2048;
/// Bytes of the buffers of a tile.
const FIRST_LEVEL: usize = 32 << 10;
/// Bytes of the rows of a tile that is swept more than once.
const SECOND_LEVEL: usize = 512 << 10;

/// A kernel with what it reads.
struct Job<'a, E> {
    /// The vector instructions of the machine.
    arch: pulp::Arch,
    kernel: &'a Kernel,
    sweeps: Vec<Sweep>,
    inputs: Vec<Input<'a, E>>,
    scalars: Vec<E>,
    examples: usize,
    /// Columns of a tile.
    width: usize,
    /// Whether rows may be shared among threads.
    splits: bool,
    /// Outputs `[B, P]`, by position.
    full: Vec<(Reg, Cells<E>, usize)>,
}

/// A matrix whose tiles are written by several threads.
struct Cells<E>(*mut E);
// SAFETY: each tile writes its own columns only; see `Job::store`.
unsafe impl<E: Send> Sync for Cells<E> {}
// SAFETY: as above; the pointer is to a vector that outlives the threads.
unsafe impl<E: Send> Send for Cells<E> {}

impl<E: Number> Job<'_, E> {
    /// A reduction over elements, and its position among all of them.
    fn over_elements(&self, reg: Reg) -> (Fold, usize) {
        let Code::OverElements(fold, _) = self.kernel.at(reg).code else {
            unreachable!("a sweep lists reductions over elements")
        };
        (
            fold,
            stats(self.kernel)
                .take_while(|(known, _)| *known != reg)
                .count(),
        )
    }

    /// The product that an instruction reads, if it does.
    fn product(&self, code: Code) -> Option<&Product<'_, E>> {
        match code {
            Code::Input(at) => match &self.inputs[usize::from(at)] {
                Input::Product(product) => Some(product),
                _ => None,
            },
            _ => None,
        }
    }

    /// Writes a part of a row of an output `[B, P]`.
    fn store(&self, reg: Reg, row: usize, columns: &Range<usize>, x: &[E]) {
        for (_, cells, stride) in self.full.iter().filter(|(known, ..)| *known == reg) {
            assert!(columns.end <= *stride && row < self.examples && x.len() == columns.len());
            // SAFETY: in bounds by the assertion, since the vector has B rows of `stride`; every tile has columns of its own, and one
            // thread runs it, so nobody else writes or reads these elements.
            unsafe {
                let start = cells.0.add(row * stride + columns.start);
                std::ptr::copy_nonoverlapping(x.as_ptr(), start, x.len());
            }
        }
    }
}

/// Runs a kernel over B examples and P columns, neither of them 0. A row among the inputs that nobody else holds may be overwritten by a
/// result.
pub(crate) fn run(
    kernel: &Kernel,
    scalars: &[f64],
    inputs: Vec<Held<FlexTensor>>,
    sides: [usize; 2],
    dtype: DType,
) -> Vec<FlexTensor> {
    match dtype {
        DType::F64 => typed::<f64>(kernel, scalars, inputs, sides),
        _ => typed::<f32>(kernel, scalars, inputs, sides),
    }
}

fn typed<E: Number>(
    kernel: &Kernel,
    scalars: &[f64],
    inputs: Vec<Held<FlexTensor>>,
    [examples, size]: [usize; 2],
) -> Vec<FlexTensor> {
    let mut inputs: Vec<Option<Held<FlexTensor>>> = inputs.into_iter().map(Some).collect();
    // Where each output `[1, P]` is written: in the place of an input, or anew.
    let mut places = in_place::<E>(kernel, &mut inputs, size);
    let inputs: Vec<Option<Held<FlexTensor>>> = inputs
        .into_iter()
        .map(|input| input.map(readable))
        .collect();
    let mut full: Vec<(Reg, Vec<E>)> = Vec::new();
    for &reg in &kernel.outputs {
        if kernel.at(reg).reach == Reach::Full {
            full.push((reg, vec![E::zero(); examples * size]));
        }
    }
    let cells = full.iter_mut();
    let cells = cells.map(|(reg, values)| (*reg, Cells(values.as_mut_ptr()), size));
    let sweeps = sweeps(kernel);
    let width = tile_width::<E>(kernel, &sweeps, examples, size);
    let width = whole_lines::<E>(&inputs, width);
    let tiles = size.div_ceil(width);
    let job = Job {
        arch: pulp::Arch::new(),
        inputs: bind(kernel, &inputs, &places),
        scalars: scalars.iter().map(|&x| number(x)).collect(),
        examples,
        width,
        splits: can_split(kernel, &sweeps, &places) && tiles < PARTS / 4,
        full: cells.collect(),
        kernel,
        sweeps,
    };
    let rows = |(_, reach): (Reg, Reach)| if reach.has_rows() { examples } else { 1 };
    let rows: Vec<usize> = stats(kernel).map(rows).collect();
    let tiles_of_part = tiles.div_ceil(PARTS);
    let part = tiles_of_part * width;
    let parts = cut(&mut places, part, size);
    let partials: Vec<Partial> = parts
        .into_par_iter()
        .enumerate()
        .map(|(at, mut outputs)| {
            let mut partial: Partial = rows.iter().map(|&n| vec![0.0; n]).collect();
            let columns = at * part..((at + 1) * part).min(size);
            run_part(&job, columns, &mut outputs, &mut partial);
            partial
        })
        .collect();
    drop(job);
    collect(kernel, places, full, &partials, [examples, size])
}

/// The tiles of one part, one after the other.
fn run_part<E: Number>(
    job: &Job<'_, E>,
    columns: Range<usize>,
    outputs: &mut [&mut [E]],
    partial: &mut Partial,
) {
    let mut buffers = Buffers::new(job);
    for start in columns.clone().step_by(job.width) {
        let tile = start..(start + job.width).min(columns.end);
        let within = tile.start - columns.start..tile.end - columns.start;
        let outputs = outputs.iter_mut().map(|output| {
            if output.is_empty() {
                &mut output[..]
            } else {
                &mut output[within.clone()]
            }
        });
        let mut outputs: Vec<&mut [E]> = outputs.collect();
        tile::run(job, &mut buffers, &tile, &mut outputs, partial);
    }
}

/// The reductions over elements.
fn stats(kernel: &Kernel) -> impl Iterator<Item = (Reg, Reach)> {
    let stats = kernel.iter();
    let stats = stats.filter(|(_, i)| matches!(i.code, Code::OverElements(..)));
    stats.map(|(reg, i)| (reg, i.reach))
}

/// An output `[1, P]`, or nothing for an output of another reach.
enum Place<E> {
    Elsewhere,
    New(Vec<E>),
    /// The input of this position, which nobody else holds.
    Of(usize, FlexTensor),
}

/// Chooses inputs that outputs may overwrite, and takes them.
fn in_place<E: Number>(
    kernel: &Kernel,
    inputs: &mut [Option<Held<FlexTensor>>],
    size: usize,
) -> Vec<Place<E>> {
    let rows = |at: usize| kernel.input_reach(at) == Some(Reach::Row);
    let mut free: Vec<usize> = (0..inputs.len())
        .filter(|&at| {
            let Some(Held::Matrix(input)) = &inputs[at] else {
                return false;
            };
            let layout = input.layout();
            let whole = layout.is_contiguous() && layout.start_offset() == 0;
            rows(at) && whole && input.is_unique() && layout.num_elements() == size
        })
        .collect();
    let places = kernel.outputs.iter().map(|&reg| {
        if kernel.at(reg).reach != Reach::Row {
            return Place::Elsewhere;
        }
        match free.pop() {
            Some(at) => match inputs[at].take() {
                Some(Held::Matrix(input)) => Place::Of(at, input),
                _ => unreachable!("a matrix, each once"),
            },
            None => Place::New(vec![E::zero(); size]),
        }
    });
    places.collect()
}

/// The input in a layout that tiles can read.
fn readable(input: Held<FlexTensor>) -> Held<FlexTensor> {
    match input {
        Held::Matrix(x) => Held::Matrix(rows_together(&x)),
        Held::Product(factors) => Held::Product(factors.map(|x| x.to_contiguous())),
    }
}

/// The width of a tile as so many whole lines of a product that several of them are computed together, if there is a product.
fn whole_lines<E>(inputs: &[Option<Held<FlexTensor>>], width: usize) -> usize {
    let lines = inputs.iter().find_map(|input| match input {
        Some(Held::Product([_, right])) => Some(right.shape()[2]),
        _ => None,
    });
    match lines {
        Some(line) if product::LINES * line * size_of::<E>() <= SECOND_LEVEL / 2 => {
            (width / line).max(product::LINES) * line
        }
        _ => width,
    }
}

/// Rows of contiguous numbers, at any distance.
fn rows_together(input: &FlexTensor) -> FlexTensor {
    let strides = input.layout().strides();
    let (rows, columns) = (input.shape()[0], input.shape()[1]);
    let within_row = strides[1] == 1 || columns == 1;
    let between = match columns {
        1 => strides[0] == 1,
        _ => strides[0] >= 0,
    };
    if within_row && (between || rows == 1) {
        input.clone()
    } else {
        input.to_contiguous()
    }
}

fn bind<'a, E: Number>(
    kernel: &Kernel,
    inputs: &'a [Option<Held<FlexTensor>>],
    places: &[Place<E>],
) -> Vec<Input<'a, E>> {
    let inputs = inputs.iter().enumerate().map(|(at, input)| {
        let Some(input) = input else {
            let taken = |place: &Place<E>| matches!(place, Place::Of(of, _) if *of == at);
            let output = places.iter().position(taken);
            return Input::InPlace(output.expect("taken by an output"));
        };
        let input = match input {
            Held::Matrix(input) => input,
            Held::Product([left, right]) => {
                let (shape, width) = (left.shape(), right.shape()[2]);
                return Input::Product(Product {
                    left: values(left),
                    right: values(right),
                    sides: [shape[1], shape[2], width],
                });
            }
        };
        let layout = input.layout();
        let values = &input.storage::<E>()[layout.start_offset()..];
        let stride = usize::try_from(layout.strides()[0]).unwrap_or(0);
        match kernel.input_reach(at).unwrap_or(Reach::One) {
            Reach::Full => Input::Full(values, stride),
            Reach::Row => Input::Row(values),
            Reach::Column => Input::Column(values),
            Reach::One => Input::One(values[0]),
        }
    });
    inputs.collect()
}

/// The numbers of a contiguous tensor.
fn values<E: Number>(x: &FlexTensor) -> &[E] {
    &x.storage::<E>()[x.layout().start_offset()..]
}

/// Whether the rows of a tile may be shared among threads: nothing but sums, maxima and minima over the examples.
fn can_split<E>(kernel: &Kernel, sweeps: &[Sweep], places: &[Place<E>]) -> bool {
    let sorts = kernel
        .code
        .iter()
        .any(|i| matches!(i.code, Code::OverExamples(reduce, _) if reduce.sorts()));
    let overwrites = places.iter().any(|place| matches!(place, Place::Of(..)));
    let plain = |sweep: &Sweep| sweep.over_elements.is_empty() && sweep.stores.is_empty();
    !sorts && !overwrites && sweeps.iter().all(plain)
}

/// Columns of a tile, so that what it touches stays in cache.
fn tile_width<E>(kernel: &Kernel, sweeps: &[Sweep], examples: usize, size: usize) -> usize {
    let bytes = size_of::<E>();
    let buffers = kernel.code.iter().filter(|i| i.reach.has_columns()).count();
    let mut width = FIRST_LEVEL / (bytes * buffers.max(1));
    let sorts = kernel.code.iter();
    let sorts = sorts.filter(|i| matches!(i.code, Code::OverExamples(r, _) if r.sorts()));
    let again = sweeps.iter().filter(|s| !s.each_row.is_empty()).count() > 1;
    let rows = sorts.count() + if again { 1 } else { 0 };
    if rows > 0 {
        width = width.min(SECOND_LEVEL / (bytes * rows * examples));
    }
    // Where nothing is summed over the examples, a row is read on and on: the longer the part of it, the better.
    let sums = kernel.code.iter();
    let sums = sums
        .filter(|i| matches!(i.code, Code::OverExamples(..)))
        .count();
    let (width, widest) = if sums > 0 {
        (width, 2048)
    } else {
        (4 * width, 1 << 14)
    };
    let width = width.clamp(128, widest).next_multiple_of(32);
    // As many parts as there are threads, at least, if there are columns enough.
    width.min(size.div_ceil(PARTS).next_multiple_of(32).max(128))
}

/// The parts of the outputs, for each group of tiles.
fn cut<E: Number>(places: &mut [Place<E>], part: usize, size: usize) -> Vec<Vec<&mut [E]>> {
    let count = size.div_ceil(part);
    let mut parts: Vec<Vec<&mut [E]>> = (0..count).map(|_| Vec::new()).collect();
    for place in places {
        let values: &mut [E] = match place {
            Place::Elsewhere => &mut [],
            Place::New(values) => values,
            Place::Of(_, tensor) => &mut tensor.storage_mut::<E>()[..size],
        };
        if values.is_empty() {
            parts.iter_mut().for_each(|part| part.push(&mut []));
        } else {
            for (part, values) in parts.iter_mut().zip(values.chunks_mut(part)) {
                part.push(values);
            }
        }
    }
    parts
}

fn collect<E: Number>(
    kernel: &Kernel,
    places: Vec<Place<E>>,
    full: Vec<(Reg, Vec<E>)>,
    partials: &[Partial],
    [examples, size]: [usize; 2],
) -> Vec<FlexTensor> {
    let tensor = |values: Vec<E>, shape: [usize; 2]| {
        FlexTensor::from_data(TensorData::new(values, Shape::new(shape)))
    };
    let mut full: Vec<Option<(Reg, Vec<E>)>> = full.into_iter().map(Some).collect();
    let outputs = kernel.outputs.iter().zip(places).map(|(&reg, place)| {
        match place {
            Place::New(values) => return tensor(values, [1, size]),
            Place::Of(_, tensor) => return tensor,
            Place::Elsewhere => {}
        }
        let known = |entry: &&mut Option<(Reg, Vec<E>)>| {
            entry.as_ref().is_some_and(|(known, _)| *known == reg)
        };
        if let Some(entry) = full.iter_mut().find(known) {
            let (_, values) = entry.take().expect("just seen");
            return tensor(values, [examples, size]);
        }
        let at = stats(kernel).position(|(known, _)| known == reg);
        let at = at.expect("numbers that reach no column are no results of a kernel");
        let Code::OverElements(fold, _) = kernel.at(reg).code else {
            unreachable!("just found")
        };
        let rows = partials[0][at].len();
        let values = (0..rows).map(|row| {
            let parts = partials.iter().map(|partial| partial[at][row]);
            number(parts.fold(0.0, |x, y| loops::combine(fold, x, y)))
        });
        tensor(values.collect(), [rows, 1])
    });
    outputs.collect()
}

/// A number of the host, rounded.
fn number<E: Number>(x: f64) -> E {
    <E as num_traits::NumCast>::from(x).expect("f64 converts to every float")
}
