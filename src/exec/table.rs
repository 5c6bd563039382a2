//! The values that will still be read.

use pergrad_transforms::program::NodeId;

use super::cell::Cell;

/// The values of a leaf, or of all leaves, that will still be read.
pub(super) struct Table {
    cells: Vec<Option<Cell>>,
    uses: Vec<u32>,
}

impl Table {
    /// No values yet, of nodes that will be read so many times.
    pub(super) fn new(uses: Vec<u32>) -> Self {
        Self {
            cells: vec![None; uses.len()],
            uses,
        }
    }

    /// Whether the node will be read.
    pub(super) fn needs(&self, id: NodeId) -> bool {
        self.uses[id.index()] > 0
    }

    /// How often the node will be read.
    pub(super) fn uses(&self, id: NodeId) -> u32 {
        self.uses[id.index()]
    }

    pub(super) fn store(&mut self, id: NodeId, cell: Cell) {
        if self.needs(id) {
            self.cells[id.index()] = Some(cell);
        }
    }

    /// The value, which leaves the table at its last use, so that burn can work in place.
    pub(super) fn take(&mut self, id: NodeId) -> Option<Cell> {
        let uses = &mut self.uses[id.index()];
        *uses = uses.saturating_sub(1);
        if *uses == 0 {
            self.cells[id.index()].take()
        } else {
            self.cells[id.index()].clone()
        }
    }

    /// The value, if it is here.
    pub(super) fn peek(&self, id: NodeId) -> Option<&Cell> {
        self.cells[id.index()].as_ref()
    }

    /// One use less of a value that is not here yet.
    pub(super) fn release(&mut self, id: NodeId) {
        let uses = &mut self.uses[id.index()];
        *uses = uses.saturating_sub(1);
    }
}
