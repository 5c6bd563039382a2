//! Every operation of the language, of special values: zeros, huge and tiny numbers, infinities and NaN.

use burn::tensor::Device;
use pergrad::HostRunner;
use pergrad::prelude::*;
use pergrad::transforms::reference::Reference;
use pergrad::transforms::runner::{HostTensor, Runner, StepInput};
use pergrad::transforms::{Dtype, PerExample};

use crate::executors::tree;

/// Every element-wise operation, one after the other, of a value and a partner.
#[derive(Clone, Debug)]
struct Everything(usize);

const OPERATIONS: usize = 19;

impl Transform<PerExample> for Everything {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let y = cx.params();
        match self.0 {
            0 => -x,
            1 => x.abs(),
            2 => x.sign(),
            3 => x.square(),
            4 => x.sqrt(),
            5 => x.exp(),
            6 => x.ln(),
            7 => x.tanh(),
            8 => x + y,
            9 => x - y,
            10 => x * y,
            11 => x / y,
            12 => x.div_or_zero(y),
            13 => x.min(y),
            14 => x.max(y),
            15 => x.lt(&y).select(1.0, x.le(&y).select(2.0, 3.0)) + x.equal(&y).as_number(),
            16 => x.is_nan().select(7.0, x.is_finite().select(8.0, 9.0)),
            17 => x.min(0.5).max(-0.25) + 1.0 / &x + (2.0 - &x) / 4.0 + 3.0,
            _ => x.gt(&y).and(&x.ge(-1.0).negate()).select(&x, 5.0) + x.weight_within(1.0),
        }
    }
}

#[test]
fn every_operation_of_special_values_equals_the_reference() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        1e-30,
        -1e30,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let n = special.len();
    // All pairs: x in the gradients of n examples, y in the parameters.
    let g = special.iter().flat_map(|x| vec![*x; n]).collect::<Vec<_>>();
    let mut input = StepInput::default();
    input
        .grads
        .insert("leaf0".into(), HostTensor::new([n, n], g));
    input
        .params
        .insert("leaf0".into(), HostTensor::new([n], special));
    for operation in 0..OPERATIONS {
        let program = program(&Everything(operation)).unwrap();
        let run = |runner: &mut dyn Runner| runner.step(&input).unwrap().updates["leaf0"].clone();
        for dtype in [Dtype::F64, Dtype::F32] {
            let tree = tree(&[n], dtype);
            let want = match dtype {
                Dtype::F64 => run(&mut Reference::<f64>::new(&program, &tree).unwrap()),
                _ => run(&mut Reference::<f32>::new(&program, &tree).unwrap()),
            };
            let got = run(&mut HostRunner::new(&program, &tree, &Device::default()).unwrap());
            for (at, (x, y)) in got.values.iter().zip(&want.values).enumerate() {
                let (a, b) = (special[at / n], special[at % n]);
                let same = x == y || (x.is_nan() && y.is_nan());
                // exp, ln and tanh differ by a few roundings between libraries.
                let close = (x - y).abs() <= 1e-6 * y.abs();
                assert!(
                    same || close,
                    "operation {operation} {dtype} of {a} and {b}: {x}, want {y}"
                );
            }
        }
    }
}

#[test]
fn every_reduction_of_special_values_equals_the_reference() {
    let columns = [
        [0.0, -0.0, 1.0, 2.0, -3.0],
        [f64::NAN, 1.0, 2.0, 3.0, 4.0],
        [1.0, 2.0, f64::NAN, 0.0, -1.0],
        [f64::INFINITY, 1.0, 2.0, 3.0, 4.0],
        [f64::NEG_INFINITY, f64::INFINITY, 0.0, 1.0, 2.0],
        [1e30, -1e30, 1.0, 1.0, 1.0],
    ];
    let p = columns.len();
    let rows = (0..5).flat_map(|b| columns.iter().map(move |column| column[b]));
    let mut input = StepInput::default();
    input.grads.insert(
        "leaf0".into(),
        HostTensor::new([5, p], rows.collect::<Vec<_>>()),
    );
    input.params.insert("leaf0".into(), HostTensor::zeros([p]));
    let programs = [
        program(&mean()),
        program(&sum()),
        program(&variance(1)),
        program(&max()),
        program(&min()),
        program(&median()),
        program(&trimmed_mean(1)),
        program(&majority()),
        program(&chain((normalize_per_example(), mean()))),
        program(&chain((clip_per_example(1.0), mean()))),
    ];
    for program in programs {
        let program = program.unwrap();
        let tree = tree(&[p], Dtype::F64);
        let want = Reference::<f64>::new(&program, &tree)
            .unwrap()
            .step(&input)
            .unwrap();
        let got = HostRunner::new(&program, &tree, &Device::default())
            .unwrap()
            .step(&input)
            .unwrap();
        for (x, y) in got.updates["leaf0"]
            .values
            .iter()
            .zip(&want.updates["leaf0"].values)
        {
            let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-12 * y.abs();
            assert!(
                same,
                "{program}: {:?}, want {:?}",
                got.updates, want.updates
            );
        }
    }
}
