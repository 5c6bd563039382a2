//! Flex, burn's CPU backend.

mod affine;

use burn::backend::Flex;

use super::ops::GradOps;

impl GradOps for Flex {}
