//! The operations of all protocols, as the counters number and name them.

use partita_wire::{ErrorCode, queue, table};

/// The operation of a request; `None` if the request was invalid before its operation was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// An operation of the Table service.
    Table(Option<table::Operation>),
    /// An operation of the Queue service.
    Queue(Option<queue::Operation>),
}

/// The position of the first operation of the Queue service.
const FIRST_OF_QUEUE: usize = table::Operation::ALL.len() + 1;

impl Operation {
    /// The number of operations, with an unknown one for each protocol.
    pub(super) const COUNT: usize = FIRST_OF_QUEUE + queue::Operation::ALL.len() + 1;

    /// The maximum number of error codes of a protocol.
    pub(super) const ERROR_CODES_MAX: usize = {
        let (tables, queues) = (table::ERROR_CODES.len(), queue::ERROR_CODES.len());
        if tables > queues { tables } else { queues }
    };

    /// All operations, each at its [`Self::index`].
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let queues = known(queue::Operation::ALL).map(Self::Queue);
        known(table::Operation::ALL).map(Self::Table).chain(queues)
    }

    /// The position in [`Self::all`].
    pub(super) fn index(self) -> usize {
        match self {
            Self::Table(operation) => {
                operation.map_or(table::Operation::ALL.len(), table::Operation::index)
            }
            Self::Queue(operation) => {
                let index = operation.map_or(queue::Operation::ALL.len(), queue::Operation::index);
                FIRST_OF_QUEUE + index
            }
        }
    }

    /// The name of a known operation.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Table(operation) => operation.map(table::Operation::name),
            Self::Queue(operation) => operation.map(queue::Operation::name),
        }
    }

    /// The name, also of an unknown operation. Names differ between protocols.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Table(operation) => operation.map_or("Unknown", table::Operation::name),
            Self::Queue(operation) => {
                operation.map_or("UnknownQueueOperation", queue::Operation::name)
            }
        }
    }

    /// The codes that its protocol can answer, each at its index.
    pub(crate) fn error_codes(self) -> &'static [ErrorCode] {
        match self {
            Self::Table(_) => table::ERROR_CODES,
            Self::Queue(_) => queue::ERROR_CODES,
        }
    }
}

/// The operations of a protocol, and an unknown one.
fn known<O: Copy>(all: &[O]) -> impl Iterator<Item = Option<O>> {
    all.iter().copied().map(Some).chain([None])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_position_and_its_own_label() {
        let mut labels = std::collections::BTreeSet::new();
        for (index, operation) in Operation::all().enumerate() {
            assert_eq!(operation.index(), index);
            assert!(labels.insert(operation.label()), "{operation:?}");
            assert!(operation.error_codes().len() <= Operation::ERROR_CODES_MAX);
        }
        assert_eq!(labels.len(), Operation::COUNT);
    }
}
