//! Decides when the controller looks for untracked pins, which are in no snapshot record: after a start, for ten
//! minutes after a failure, and once an hour.

use super::phase::Exclusive;
use super::{Action, JobId, Outcome, State};

/// The number of complete rounds that look for pins after a failure. At 10 s per round they take ten minutes, longer
/// than an abandoned flush unless the disk is full.
const ROUNDS_AFTER_FAILURE: u32 = 60;

/// Even without a failure, one of this many rounds looks for pins, which is once an hour: on a full disk, an abandoned
/// flush may create its pin much later.
pub(crate) const ROUNDS_BETWEEN: u32 = 360;

/// Counts rounds.
#[derive(Debug)]
pub(super) struct PinRounds {
    /// The number of coming rounds that look for pins.
    due: u32,
    /// Rounds since the last hourly one.
    passed: u32,
}

impl Default for PinRounds {
    /// The first round looks for pins, because the previous process may have been killed.
    fn default() -> Self {
        Self { due: 1, passed: 0 }
    }
}

impl PinRounds {
    pub(super) fn suspect(&mut self) {
        self.due = ROUNDS_AFTER_FAILURE;
    }

    /// Begins a round. Returns whether it looks for pins.
    fn begin(&mut self) -> bool {
        self.passed += 1;
        let is_hourly = self.passed == ROUNDS_BETWEEN;
        if is_hourly {
            self.passed = 0;
        }
        is_hourly || self.due > 0
    }
}

impl State {
    pub(super) fn begin_pin_round(&mut self, job: JobId) {
        if self.pins.begin() {
            self.wait(job, Exclusive::ReleasePins);
        } else {
            self.out.push(Action::Answer(job, Ok(Outcome::Done)));
        }
    }

    pub(super) fn pins_released(&mut self, job: JobId, complete: bool) {
        if complete {
            self.pins.due = self.pins.due.saturating_sub(1);
        }
        self.finish(job, Ok(Outcome::Done));
    }
}
