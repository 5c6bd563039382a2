//! Flex, burn's CPU backend.

mod affine;
pub(crate) mod columns;
pub(crate) mod kernel;
pub(crate) mod merge;

use burn::backend::Flex;

use super::ops::GradOps;

impl GradOps for Flex {}
