//! pergrad
