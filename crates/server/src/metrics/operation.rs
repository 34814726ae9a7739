//! The operations of all protocols, as the counters number and name them.

use partita_wire::{ErrorCode, table};

/// The operation of a request; `None` if the request was invalid before its operation was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// An operation of the Table service.
    Table(Option<table::Operation>),
}

impl Operation {
    /// The number of operations, with an unknown one for each protocol.
    pub(super) const COUNT: usize = table::Operation::ALL.len() + 1;

    /// The maximum number of error codes of a protocol.
    pub(super) const ERROR_CODES_MAX: usize = table::ERROR_CODES.len();

    /// All operations, each at its [`Self::index`].
    pub(super) fn all() -> impl Iterator<Item = Self> {
        known(table::Operation::ALL).map(Self::Table)
    }

    /// The position in [`Self::all`].
    pub(super) fn index(self) -> usize {
        match self {
            Self::Table(operation) => {
                operation.map_or(table::Operation::ALL.len(), table::Operation::index)
            }
        }
    }

    /// The name of a known operation.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Table(operation) => operation.map(table::Operation::name),
        }
    }

    /// The name, also of an unknown operation.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Table(operation) => operation.map_or("Unknown", table::Operation::name),
        }
    }

    /// The codes that its protocol can answer, each at its index.
    pub(super) fn error_codes(self) -> &'static [ErrorCode] {
        match self {
            Self::Table(_) => table::ERROR_CODES,
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
