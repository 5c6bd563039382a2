//! A kernel in two: what is computed for each column, and reductions over elements.
//!
//! On a device with thousands of threads a column has a thread of its own, and a reduction over elements joins them all: it is a
//! kernel by itself, with other threads. What it needs of reductions over the examples, the first kernel gives.

use std::collections::HashMap;

use super::{Code, Instruction, Kernel, Reach, Reduce, Reg};

/// The two parts of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    /// No reduction over elements; nothing where nothing else is asked for. Its outputs are those of the kernel, in order, and then what
    /// `folds` needs.
    pub(crate) columns: Option<Kernel>,
    /// Nothing but element-wise instructions and reductions over elements of them. After the inputs of the kernel it has one `[1, P]`
    /// for each of `needs`.
    pub(crate) folds: Option<Kernel>,
    /// Outputs of `columns` that are further inputs of `folds`, by position.
    pub(crate) needs: Vec<usize>,
}

impl Kernel {
    /// The kernel in two parts.
    pub(crate) fn apart(&self, inputs: usize) -> Apart {
        let is_fold = |reg: &&Reg| matches!(self.at(**reg).code, Code::OverElements(..));
        let folds: Vec<Reg> = self.outputs.iter().filter(is_fold).copied().collect();
        let mut outputs: Vec<Reg> = self
            .outputs
            .iter()
            .filter(|r| !is_fold(r))
            .copied()
            .collect();
        let after = self.after_examples();
        let cut = |reg: Reg| after[reg.index()] && !self.at(reg).reach.has_rows();
        let mut further = Vec::new();
        let kernel = (!folds.is_empty()).then(|| {
            self.of(&folds, |reg| {
                cut(reg).then(|| {
                    let known = further.iter().position(|known| *known == reg);
                    let at = known.unwrap_or_else(|| {
                        further.push(reg);
                        further.len() - 1
                    });
                    Given::Row(narrow(inputs + at))
                })
            })
        });
        let needs = further.into_iter().map(|reg| {
            let known = outputs.iter().position(|known| *known == reg);
            known.unwrap_or_else(|| {
                outputs.push(reg);
                outputs.len() - 1
            })
        });
        let needs = needs.collect();
        let columns = (!outputs.is_empty()).then(|| self.of(&outputs, |_| None));
        Apart {
            columns,
            folds: kernel,
            needs,
        }
    }

    /// The kernel of some results alone.
    pub(crate) fn part(&self, outputs: &[Reg]) -> Self {
        self.of(outputs, |_| None)
    }

    /// A kernel that does nothing but reduce its only input over the elements, for each row of many or for the only one.
    #[cfg(feature = "cube")]
    pub(crate) fn fold(fold: pergrad_transforms::program::Fold, many: bool) -> Self {
        let (input, output) = match many {
            true => (Reach::Full, Reach::Column),
            false => (Reach::Row, Reach::One),
        };
        let read = Instruction {
            code: Code::Input(0),
            reach: input,
        };
        let reduce = Instruction {
            code: Code::OverElements(fold, Reg(0)),
            reach: output,
        };
        Self {
            code: vec![read, reduce],
            outputs: vec![Reg(1)],
        }
    }

    /// The kernel in two whose rows may be cut into stretches, if it is one: the first reduces a stretch of rows over the examples, the
    /// second joins the stretches and does the rest. What the first gives, `[stretches, P]`, are further inputs of the second.
    pub(crate) fn in_two_stages(&self, inputs: usize) -> Option<(Self, Self)> {
        let reductions = self.iter().filter_map(|(reg, i)| match i.code {
            Code::OverExamples(reduce, of) => Some((reg, reduce, of)),
            _ => None,
        });
        let reductions: Vec<(Reg, Reduce, Reg)> = reductions.collect();
        let after = self.after_examples();
        let joins = |(_, reduce, of): &(Reg, Reduce, Reg)| !reduce.sorts() && !after[of.index()];
        let stores = |reg: &Reg| self.at(*reg).reach == Reach::Full;
        if reductions.is_empty() || !reductions.iter().all(joins) || self.outputs.iter().any(stores)
        {
            return None;
        }
        let first: Vec<Reg> = reductions.iter().map(|(reg, ..)| *reg).collect();
        let second = self.of(&self.outputs, |reg| {
            let at = reductions.iter().position(|(known, ..)| *known == reg)?;
            Some(Given::Stretches(narrow(inputs + at), reductions[at].1))
        });
        Some((self.part(&first), second))
    }

    /// The kernel of some results alone; `given` says which results are inputs of it.
    fn of(&self, outputs: &[Reg], mut given: impl FnMut(Reg) -> Option<Given>) -> Self {
        let mut inputs: HashMap<Reg, Given> = HashMap::new();
        let mut needed = vec![false; self.code.len()];
        for reg in outputs {
            needed[reg.index()] = true;
        }
        for (reg, instruction) in self.iter().rev() {
            if !needed[reg.index()] {
                continue;
            }
            // A reduction over elements is a result, never an input.
            let folds = matches!(instruction.code, Code::OverElements(..));
            let input = if folds { None } else { given(reg) };
            match input {
                Some(input) => {
                    inputs.insert(reg, input);
                }
                None => {
                    for operand in instruction.code.operands() {
                        needed[operand.index()] = true;
                    }
                }
            }
        }
        let mut code: Vec<Instruction> = Vec::new();
        let mut push = |op: Code, reach: Reach| {
            code.push(Instruction { code: op, reach });
            Reg(narrow(code.len() - 1))
        };
        let mut renamed: HashMap<Reg, Reg> = HashMap::new();
        for (reg, instruction) in self.iter().filter(|(reg, _)| needed[reg.index()]) {
            let new = match inputs.get(&reg) {
                Some(Given::Row(at)) => push(Code::Input(*at), Reach::Row),
                Some(Given::Stretches(at, reduce)) => {
                    let stretches = push(Code::Input(*at), Reach::Full);
                    push(Code::OverExamples(*reduce, stretches), Reach::Row)
                }
                None => {
                    let op = instruction.code.map_operands(|operand| renamed[&operand]);
                    push(op, instruction.reach)
                }
            };
            renamed.insert(reg, new);
        }
        Self {
            code,
            outputs: outputs.iter().map(|reg| renamed[reg]).collect(),
        }
    }

    /// For each result, whether a reduction over the examples comes before it.
    fn after_examples(&self) -> Vec<bool> {
        let mut after: Vec<bool> = Vec::with_capacity(self.code.len());
        for instruction in &self.code {
            let reduces = matches!(instruction.code, Code::OverExamples(..));
            let mut operands = instruction.code.operands();
            let is_after = reduces || operands.any(|reg: Reg| after[reg.index()]);
            after.push(is_after);
        }
        after
    }
}

/// An input in the place of a result.
enum Given {
    /// The result itself.
    Row(u16),
    /// What it is a reduction of, for each stretch of rows.
    Stretches(u16, Reduce),
}

fn narrow(at: usize) -> u16 {
    u16::try_from(at).expect("a kernel has fewer than 2^16 instructions and inputs")
}

#[cfg(test)]
mod tests {
    use pergrad_transforms::program::{Binary, Fold, Reduction, Unary};

    use super::super::Builder;
    use super::*;

    #[test]
    fn the_norm_of_a_mean_and_the_norms_around_it_are_reduced_by_themselves() {
        let mut builder = Builder::default();
        let g = builder.input([8, 100], [8, 100]);
        let mean = builder.over_examples(Reduction::Mean, g, 8);
        let square = builder.push(Code::Unary(Unary::Square, mean));
        let norm = builder.over_elements(Fold::Sum, square);
        let deviation = builder.push(Code::Binary(Binary::Sub, g, mean));
        let squares = builder.push(Code::Unary(Unary::Square, deviation));
        let around = builder.over_elements(Fold::Sum, squares);
        let max = builder.over_examples(Reduction::Max, g, 8);
        let (kernel, _) = builder.finish(vec![norm, max, around]);
        let apart = kernel.apart(1);
        let columns = apart.columns.expect("a maximum is asked for");
        // The square of the mean is what the first norm needs, the mean what the second one does.
        assert_eq!(columns.outputs.len(), 3);
        assert_eq!(apart.needs.len(), 2);
        let folds = |i: &Instruction| matches!(i.code, Code::OverElements(..));
        assert!(!columns.code.iter().any(folds));
        assert!(!apart.needs.contains(&0), "the maximum is nobody's input");
        let folds = apart.folds.expect("two norms");
        assert_eq!(folds.outputs.len(), 2);
        let examples = |i: &Instruction| matches!(i.code, Code::OverExamples(..));
        assert!(!folds.code.iter().any(examples));
        assert_eq!(folds.input_reach(0), Some(Reach::Full));
        assert_eq!(folds.input_reach(1), Some(Reach::Row));
        assert_eq!(folds.input_reach(2), Some(Reach::Row));
    }

    #[test]
    fn a_mean_in_two_stages_is_divided_once_and_a_variance_is_not_cut() {
        let mut builder = Builder::default();
        let g = builder.input([8, 100], [8, 100]);
        let mean = builder.over_examples(Reduction::Mean, g, 8);
        let max = builder.over_examples(Reduction::Max, g, 8);
        let (kernel, _) = builder.finish(vec![mean, max]);
        let (first, second) = kernel.in_two_stages(1).expect("both join");
        let divides = |kernel: &Kernel| {
            let code = kernel.code.iter();
            code.filter(|i| matches!(i.code, Code::Binary(Binary::Div, ..)))
                .count()
        };
        assert_eq!((divides(&first), divides(&second)), (0, 1));
        assert_eq!(first.outputs.len(), 2);
        assert_eq!(second.input_reach(0), None);
        assert_eq!(second.input_reach(1), Some(Reach::Full));
        assert_eq!(second.input_reach(2), Some(Reach::Full));

        let mut builder = Builder::default();
        let g = builder.input([8, 100], [8, 100]);
        let variance = builder.over_examples(Reduction::Variance { ddof: 0 }, g, 8);
        let (kernel, _) = builder.finish(vec![variance]);
        assert_eq!(kernel.in_two_stages(1), None);
    }

    #[test]
    fn a_kernel_of_norms_alone_is_one_kernel() {
        let mut builder = Builder::default();
        let g = builder.input([8, 100], [8, 100]);
        let square = builder.push(Code::Unary(Unary::Square, g));
        let norm = builder.over_elements(Fold::Sum, square);
        let (kernel, _) = builder.finish(vec![norm]);
        let apart = kernel.apart(1);
        assert_eq!(apart.columns, None);
        assert_eq!(apart.folds, Some(kernel));
        assert!(apart.needs.is_empty());
    }
}
