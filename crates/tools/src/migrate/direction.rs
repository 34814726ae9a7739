//! The two directions of a migration.

/// Whether a migration is applied or reverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Apply it.
    Up,
    /// Revert it.
    Down,
}

impl Direction {
    /// The command that runs this direction.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// A description of a running migration in this direction.
    pub(super) fn doing(self) -> &'static str {
        match self {
            Self::Up => "applying",
            Self::Down => "reverting",
        }
    }
}
