//! The two directions of a migration.

use partita_bulk::named_enum;

named_enum! {
    /// Whether a migration is applied or reverted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Direction {
        /// Apply the migration.
        Up = "up",
        /// Revert the migration.
        Down = "down",
    }
}

impl Direction {
    /// What a run in this direction is doing, for messages.
    pub(super) fn doing(self) -> &'static str {
        match self {
            Self::Up => "applying",
            Self::Down => "reverting",
        }
    }
}
