//! The canonical text of a program, made for reading and for snapshots.

use std::fmt;

use super::{Binary, Comparison, Fold, NodeId, Op, Program, Reduction, Test, Unary, ValueType};
use crate::axis::AxisKind;
use crate::extent::ExtentKind;

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match (self.axis, self.extent) {
            (AxisKind::PerExample, ExtentKind::Leaf) => "[B,P]",
            (AxisKind::Aggregated, ExtentKind::Leaf) => "[P]",
            (AxisKind::PerExample, ExtentKind::PerLeaf) => "[B] per leaf",
            (AxisKind::Aggregated, ExtentKind::PerLeaf) => "[] per leaf",
            (AxisKind::PerExample, ExtentKind::Global) => "[B]",
            (AxisKind::Aggregated, ExtentKind::Global) => "[]",
            (AxisKind::PerExample, ExtentKind::Pairs) => "[B,B]",
            (AxisKind::Aggregated, ExtentKind::Pairs) => "[1,B]",
            (AxisKind::PerExample, ExtentKind::LeafPairs) => "[B,B] per leaf",
            (AxisKind::Aggregated, ExtentKind::LeafPairs) => "[1,B] per leaf",
        };
        write!(f, "{shape}{}", if self.predicate { " bool" } else { "" })
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum => write!(f, "sum_B"),
            Self::Mean => write!(f, "mean_B"),
            Self::Variance { ddof } => write!(f, "variance_B(ddof={ddof})"),
            Self::Max => write!(f, "max_B"),
            Self::Min => write!(f, "min_B"),
            Self::Median => write!(f, "median_B"),
            Self::TrimmedMean { k } => write!(f, "trimmed_mean_B(k={k})"),
        }
    }
}

fn unary(op: Unary) -> &'static str {
    match op {
        Unary::Neg => "neg",
        Unary::Abs => "abs",
        Unary::Sign => "sign",
        Unary::Square => "square",
        Unary::Sqrt => "sqrt",
        Unary::Exp => "exp",
        Unary::Ln => "ln",
        Unary::Tanh => "tanh",
    }
}

fn binary(op: Binary) -> &'static str {
    match op {
        Binary::Add => "add",
        Binary::Sub => "sub",
        Binary::Mul => "mul",
        Binary::Div => "div",
        Binary::DivOrZero => "div_or_zero",
        Binary::Min => "min",
        Binary::Max => "max",
        Binary::Pow => "pow",
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Less => "less",
        Comparison::LessEqual => "less_equal",
        Comparison::Equal => "equal",
    }
}

fn fold(op: Fold) -> &'static str {
    match op {
        Fold::Sum => "sum",
        Fold::Max => "max",
    }
}

/// Inputs, literals and names stand where they are used; only computed values get a line.
fn is_inline(op: Op) -> bool {
    op.operands().next().is_none()
}

impl Program {
    fn operand(&self, id: NodeId, names: &[usize]) -> String {
        match self.node(id).op {
            Op::Grads => "g".to_owned(),
            Op::Params => "p".to_owned(),
            Op::Step => "step".to_owned(),
            Op::BatchSize => "B".to_owned(),
            Op::LeafSize => "P".to_owned(),
            Op::Const(x) => x.to_string(),
            Op::Hyper(at) => format!("${}", self.hypers[at as usize].name),
            Op::Extra(at) => format!("?{}", self.extras[at as usize].name),
            Op::State(at) => format!("@{}", self.slots[at as usize].name),
            Op::Normal(at) => format!("~{}", self.streams[at as usize].name),
            Op::Selected(at) => format!("leaf in {}", self.selectors[at as usize]),
            _ => format!("%{}", names[id.index()]),
        }
    }

    fn expression(&self, id: NodeId, names: &[usize]) -> String {
        let o = |id| self.operand(id, names);
        match self.node(id).op {
            Op::Unary(f, a) => format!("{} {}", unary(f), o(a)),
            Op::Binary(f, a, b) => format!("{} {} {}", binary(f), o(a), o(b)),
            Op::Compare(f, a, b) => format!("{} {} {}", comparison(f), o(a), o(b)),
            Op::Test(Test::IsNan, a) => format!("is_nan {}", o(a)),
            Op::Test(Test::IsFinite, a) => format!("is_finite {}", o(a)),
            Op::And(a, b) => format!("and {} {}", o(a), o(b)),
            Op::Not(a) => format!("not {}", o(a)),
            Op::Select(c, a, b) => format!("select ({}) {} {}", o(c), o(a), o(b)),
            Op::OverExamples(r, a) => format!("{r} {}", o(a)),
            Op::OverElements(r, a) => format!("{}_P {}", fold(r), o(a)),
            Op::OverLeaves(r, a) => format!("{}_leaves {}", fold(r), o(a)),
            Op::AlongAxes(r, axes, a) => format!("{}_along({axes}) {}", fold(r), o(a)),
            Op::Product3(a, b, c) => format!("product3 {} {} {}", o(a), o(b), o(c)),
            Op::Gram(a) => format!("gram {}", o(a)),
            Op::PairProduct(a, b) => format!("pair_product {} {}", o(a), o(b)),
            Op::OverPairs(r, a) => format!("{}_pairs {}", fold(r), o(a)),
            Op::Transpose(a) => format!("transpose {}", o(a)),
            _ => o(id),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "program {} -> {}", self.input(), self.output())?;
        for hyper in &self.hypers {
            write!(f, "${} = {}", hyper.name, hyper.value)?;
            match hyper.count {
                None => writeln!(f)?,
                Some(at) => writeln!(f, " at @{}", self.slots[at as usize].name)?,
            }
        }
        f.write_str(&self.body())
    }
}

impl Program {
    /// The text without the values of the hyper-parameters and without metrics: what must agree for a saved state to fit.
    pub fn rule(&self) -> String {
        let mut rule = self.clone();
        rule.outputs.truncate(1);
        super::graph::prune(rule).body()
    }

    /// The text of one operation, `"%3 = mean_B %2"`, or of an input, as they stand in the whole.
    pub fn text_of(&self, id: NodeId) -> String {
        let mut names = vec![usize::MAX; self.nodes.len()];
        let computed = self.nodes.iter().enumerate();
        let computed = computed.filter(|(_, node)| !is_inline(node.op));
        for (name, (at, _)) in computed.enumerate() {
            names[at] = name;
        }
        let value = self.operand(id, &names);
        if is_inline(self.node(id).op) {
            return value;
        }
        let text = self.expression(id, &names);
        format!("{value} = {text} : {}", self.node(id).ty)
    }

    /// The text after the hyper-parameters.
    fn body(&self) -> String {
        let mut out = String::new();
        for slot in &self.slots {
            let ty = ValueType {
                axis: AxisKind::Aggregated,
                extent: slot.extent,
                predicate: false,
            };
            let leaves = slot.leaves.map(|at| &self.selectors[at as usize]);
            let leaves = leaves.map_or(String::new(), |leaves| format!(" in {leaves}"));
            out += &format!("@{} : {ty} = {}{leaves}\n", slot.name, slot.init);
        }
        for stream in &self.streams {
            let ty = ValueType {
                axis: AxisKind::Aggregated,
                extent: stream.extent,
                predicate: false,
            };
            let count = stream.count.map(|at| &self.slots[at as usize].name);
            let count = count.map_or_else(|| "step".to_owned(), |name| format!("@{name}"));
            out += &format!("~{} : {ty} = normal at {count}\n", stream.name);
        }
        let mut names = vec![usize::MAX; self.nodes.len()];
        let mut next = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            if !is_inline(node.op) {
                names[at] = next;
                let id = NodeId(u32::try_from(at).expect("few nodes"));
                let text = self.expression(id, &names);
                out += &format!("%{next} = {text} : {}\n", node.ty);
                next += 1;
            }
        }
        for slot in &self.slots {
            out += &format!("@{} <- {}\n", slot.name, self.operand(slot.next, &names));
        }
        for output in &self.outputs {
            out += &format!("{} = {}\n", output.name, self.operand(output.node, &names));
        }
        out
    }
}
