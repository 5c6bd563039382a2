//! Flex, burn's CPU backend.

mod affine;
pub(crate) mod kernel;

use burn::backend::Flex;

use super::ops::GradOps;

impl GradOps for Flex {}
