//! The two directions of a migration.

use crate::named_enum::named_enum;

named_enum! {
    /// Whether a migration is applied or reverted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Direction {
        /// Apply it.
        Up = "up",
        /// Revert it.
        Down = "down",
    }
}

impl Direction {
    /// A description of a running migration in this direction.
    pub(super) fn doing(self) -> &'static str {
        match self {
            Self::Up => "applying",
            Self::Down => "reverting",
        }
    }
}
