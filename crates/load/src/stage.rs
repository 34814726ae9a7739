//! The stages of a measurement: warm-up, measuring, stopped. All its workers read the current stage.

use std::sync::atomic::{AtomicU8, Ordering};

/// The stages of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Requests are sent but not recorded.
    WarmingUp,
    /// Requests are recorded.
    Measuring,
    /// Workers send no further requests, and end.
    Stopped,
}

/// The current stage of a measurement, shared by its workers. Reading it takes one relaxed atomic load.
#[derive(Debug, Default)]
pub struct StageCell(AtomicU8);

impl StageCell {
    /// A measurement in its warm-up stage.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// The current stage.
    #[must_use]
    #[inline]
    pub fn get(&self) -> Stage {
        match self.0.load(Ordering::Relaxed) {
            0 => Stage::WarmingUp,
            1 => Stage::Measuring,
            _ => Stage::Stopped,
        }
    }

    /// Changes the stage.
    pub fn set(&self, stage: Stage) {
        self.0.store(stage as u8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_round_trips() {
        let cell = StageCell::new();
        assert_eq!(cell.get(), Stage::WarmingUp);
        for stage in [Stage::Measuring, Stage::Stopped, Stage::WarmingUp] {
            cell.set(stage);
            assert_eq!(cell.get(), stage);
        }
    }
}
