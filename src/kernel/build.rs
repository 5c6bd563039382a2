//! Writing a kernel, instruction by instruction.

use std::collections::HashMap;

use pergrad_transforms::program::{Binary, Fold, Reduction, Unary};

use super::{Code, Instruction, Kernel, Reach, Reduce, Reg};

/// A kernel under construction. Equal instructions are one.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    code: Vec<Instruction>,
    known: HashMap<Code, Reg>,
    inputs: u16,
    scalars: Vec<f64>,
}

impl Builder {
    /// The next input, a matrix of these sides in a kernel over B rows and P columns.
    pub(crate) fn input(&mut self, dims: [usize; 2], sides: [usize; 2]) -> Reg {
        let code = Code::Input(self.inputs);
        self.inputs += 1;
        self.push_as(code, Reach::of(dims, sides))
    }

    /// The instruction that gives a result.
    pub(crate) fn code(&self, reg: Reg) -> Code {
        self.code[reg.index()].code
    }

    /// Whether it reaches no column although it is no reduction over them: such a number is no output.
    pub(crate) fn is_narrow(&self, reg: Reg) -> bool {
        let instruction = self.code[reg.index()];
        let reduced = matches!(instruction.code, Code::OverElements(..));
        !instruction.reach.has_columns() && !reduced
    }

    /// Whether it is `[B, P]`.
    pub(crate) fn is_full(&self, reg: Reg) -> bool {
        self.code[reg.index()].reach == Reach::Full
    }

    /// A number of the host.
    pub(crate) fn scalar(&mut self, x: f64) -> Reg {
        let same = |y: &f64| y.to_bits() == x.to_bits();
        let at = self.scalars.iter().position(same).unwrap_or_else(|| {
            self.scalars.push(x);
            self.scalars.len() - 1
        });
        let at = u16::try_from(at).expect("a kernel has fewer than 2^16 scalars");
        self.push_as(Code::Scalar(at), Reach::One)
    }

    /// An element-wise instruction.
    pub(crate) fn push(&mut self, code: Code) -> Reg {
        let reaches = code.operands().map(|reg| self.code[reg.index()].reach);
        let reach = reaches.reduce(Reach::join).expect("it has operands");
        self.push_as(code, reach)
    }

    /// A reduction over the B examples.
    #[allow(clippy::cast_precision_loss)] // batches are below 2^53
    pub(crate) fn over_examples(&mut self, reduction: Reduction, x: Reg, examples: usize) -> Reg {
        let divide = |this: &mut Self, x: Reg, by: usize| {
            let by = this.scalar(by as f64);
            this.push(Code::Binary(Binary::Div, x, by))
        };
        let reduce = match reduction {
            Reduction::Sum => Reduce::Sum,
            Reduction::Mean => {
                let sum = self.over_examples(Reduction::Sum, x, examples);
                return divide(self, sum, examples);
            }
            Reduction::Variance { ddof } => {
                let mean = self.over_examples(Reduction::Mean, x, examples);
                let deviation = self.push(Code::Binary(Binary::Sub, x, mean));
                let square = self.push(Code::Unary(Unary::Square, deviation));
                let squares = self.over_examples(Reduction::Sum, square, examples);
                // The mean is rounded; what it is off by would add its square to the variance.
                let off = self.over_examples(Reduction::Sum, deviation, examples);
                let off = self.push(Code::Unary(Unary::Square, off));
                let off = divide(self, off, examples);
                let squares = self.push(Code::Binary(Binary::Sub, squares, off));
                let zero = self.scalar(0.0);
                let squares = self.push(Code::Binary(Binary::Max, squares, zero));
                return divide(self, squares, examples - ddof);
            }
            Reduction::Max => Reduce::Max,
            Reduction::Min => Reduce::Min,
            Reduction::Median => Reduce::Median,
            Reduction::TrimmedMean { k } => Reduce::TrimmedMean(k),
        };
        self.push_as(Code::OverExamples(reduce, x), Reach::Row)
    }

    /// A reduction over the elements.
    pub(crate) fn over_elements(&mut self, fold: Fold, x: Reg) -> Reg {
        let reach = if self.code[x.index()].reach.has_rows() {
            Reach::Column
        } else {
            Reach::One
        };
        self.push_as(Code::OverElements(fold, x), reach)
    }

    fn push_as(&mut self, code: Code, reach: Reach) -> Reg {
        if let Some(&known) = self.known.get(&code) {
            return known;
        }
        let at = u16::try_from(self.code.len()).expect("a kernel has fewer than 2^16 instructions");
        self.code.push(Instruction { code, reach });
        self.known.insert(code, Reg(at));
        Reg(at)
    }

    /// The kernel that gives these results, and its numbers of the host.
    pub(crate) fn finish(self, outputs: Vec<Reg>) -> (Kernel, Vec<f64>) {
        let kernel = Kernel {
            code: self.code,
            outputs,
        };
        (kernel, self.scalars)
    }
}
