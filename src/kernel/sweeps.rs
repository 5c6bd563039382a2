//! In which order the instructions of a kernel run over a tile.

use pergrad_transforms::program::Unary;

use super::{Code, Kernel, Reach, Reduce, Reg};

/// One run over the rows of a tile, and what is computed once before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sweep {
    /// Computed once: numbers, and columns that depend on earlier sweeps.
    pub(crate) once: Vec<Reg>,
    /// Computed for every row.
    pub(crate) each_row: Vec<Reg>,
    /// Reductions over the examples, complete after the last row.
    pub(crate) over_examples: Vec<Taken>,
    /// Reductions over the elements of every row.
    pub(crate) over_elements: Vec<Taken>,
    /// Outputs `[B, P]` of every row.
    pub(crate) stores: Vec<Reg>,
}

/// A reduction, and what it is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Taken {
    pub(crate) reg: Reg,
    pub(crate) of: Reg,
    /// A cheap function that is taken on the way, so that its result is never stored.
    pub(crate) by: Option<Unary>,
}

impl Taken {
    fn new(kernel: &Kernel, reg: Reg, of: Reg, adds_up: bool) -> Self {
        match kernel.at(of).code {
            Code::Unary(f @ (Unary::Neg | Unary::Abs | Unary::Sign | Unary::Square), x)
                if adds_up && kernel.at(of).reach.has_rows() =>
            {
                Self {
                    reg,
                    of: x,
                    by: Some(f),
                }
            }
            _ => Self { reg, of, by: None },
        }
    }
}

/// The sweeps of a kernel. The last one may have no rows to run over.
///
/// What a row needs of an earlier sweep is computed again: it is cheaper than to keep `[B, P]`.
pub(crate) fn sweeps(kernel: &Kernel) -> Vec<Sweep> {
    let levels = levels(kernel);
    let count = levels.iter().max().map_or(0, |level| level + 1);
    let mut sweeps = vec![Sweep::default(); count];
    for (reg, instruction) in kernel.iter() {
        let level = levels[reg.index()];
        match instruction.code {
            // Its level is that of its result; it is taken one sweep before.
            Code::OverExamples(reduce, x) => {
                let taken = Taken::new(kernel, reg, x, reduce == Reduce::Sum);
                sweeps[level - 1].over_examples.push(taken);
            }
            Code::OverElements(_, x) if kernel.at(x).reach.has_rows() => {
                let taken = Taken::new(kernel, reg, x, true);
                sweeps[level].over_elements.push(taken);
            }
            // Of a row that is computed once.
            Code::OverElements(..) => sweeps[level].once.push(reg),
            _ if !instruction.reach.has_rows() => sweeps[level].once.push(reg),
            _ => {}
        }
        if instruction.reach == Reach::Full && kernel.outputs.contains(&reg) {
            sweeps[level].stores.push(reg);
        }
    }
    for sweep in &mut sweeps {
        let mut needed = vec![false; kernel.code.len()];
        let reductions = sweep.over_examples.iter().chain(&sweep.over_elements);
        for taken in reductions {
            needed[taken.of.index()] = true;
        }
        for reg in &sweep.stores {
            needed[reg.index()] = true;
        }
        for (reg, instruction) in kernel.iter().rev() {
            if needed[reg.index()] && instruction.reach.has_rows() {
                for operand in instruction.code.operands() {
                    needed[operand.index()] = true;
                }
            }
        }
        let rows = kernel.iter().filter(|(_, i)| i.reach.has_rows());
        let rows = rows.filter(|(reg, _)| needed[reg.index()]);
        sweep.each_row = rows.map(|(reg, _)| reg).collect();
    }
    sweeps
}

/// After how many sweeps each result is known.
fn levels(kernel: &Kernel) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(kernel.code.len());
    for instruction in &kernel.code {
        let operands = instruction.code.operands();
        let level = operands.map(|reg| levels[reg.index()]).max().unwrap_or(0);
        let ends = usize::from(matches!(instruction.code, Code::OverExamples(..)));
        levels.push(level + ends);
    }
    levels
}

#[cfg(test)]
mod tests {
    use pergrad_transforms::program::{Fold, Reduction, Unary};

    use super::super::Builder;
    use super::*;

    #[test]
    fn four_statistics_are_one_sweep_and_the_variance_one_more() {
        let mut builder = Builder::default();
        let g = builder.input([8, 100], [8, 100]);
        let square = builder.push(Code::Unary(Unary::Square, g));
        let sign = builder.push(Code::Unary(Unary::Sign, g));
        let outputs = [g, square, sign].map(|x| builder.over_examples(Reduction::Mean, x, 8));
        let norms = builder.over_elements(Fold::Sum, square);
        let (kernel, scalars) = builder.finish([&outputs[..], &[norms]].concat());
        let found = sweeps(&kernel);
        assert_eq!(found.len(), 2, "the second one divides by B");
        assert_eq!(found[0].over_examples.len(), 3);
        assert_eq!(found[0].over_elements[0].reg, norms);
        assert_eq!(
            found[0].each_row,
            [g],
            "squares and signs are taken on the way"
        );
        assert!(found[1].each_row.is_empty());
        assert_eq!(scalars, [8.0]);

        let mut builder = Builder::default();
        let g = builder.input([8, 100], [8, 100]);
        let variance = builder.over_examples(Reduction::Variance { ddof: 1 }, g, 8);
        let (kernel, _) = builder.finish(vec![variance]);
        let found = sweeps(&kernel);
        assert_eq!(found.len(), 3);
        assert!(!found[1].each_row.is_empty() && found[2].each_row.is_empty());
    }
}
