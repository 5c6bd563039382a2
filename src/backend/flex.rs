//! Flex, burn's CPU backend.

use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::ops::GradOps;

impl GradOps for Flex {
    fn tap(x: FloatTensor<Self>, _anchor: FloatTensor<Self>, _ticket: u64) -> FloatTensor<Self> {
        x
    }
}
