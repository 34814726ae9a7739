//! When pins that no snapshot names are looked for: after a start, for a while after a failure, and once an hour.

use super::change_lock::{Exclusive, Phase};
use super::{Action, JobId, Outcome, State};

/// Rounds in which pins are looked for after a failure: ten minutes, longer than a flush that was given up can still take.
const ROUNDS_AFTER_FAILURE: u32 = 60;

/// Besides, they are looked for once in this many rounds, an hour: on a disk that is full for long, a flush that was given up may
/// make its pin at any time.
pub(crate) const ROUNDS_BETWEEN: u32 = 360;

/// Counts rounds.
#[derive(Debug)]
pub(super) struct PinRounds {
    /// In how many more rounds pins are looked for.
    due: u32,
    /// Rounds since the last hourly one.
    passed: u32,
}

impl Default for PinRounds {
    /// Due once: the process before may have been killed.
    fn default() -> Self {
        Self { due: 1, passed: 0 }
    }
}

impl PinRounds {
    pub(super) fn suspect(&mut self) {
        self.due = ROUNDS_AFTER_FAILURE;
    }

    /// Begins a round. Returns whether pins are looked for.
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
    pub(super) fn begin_pin_round(&mut self, job: JobId, out: &mut Vec<Action>) {
        if self.pins.begin() {
            self.wait(job, Exclusive::ReleasePins, out);
        } else {
            let answer = Ok(Outcome::Done);
            out.push(Action::Answer { job, answer });
        }
    }

    pub(super) fn pins_released(&mut self, job: JobId, complete: bool, out: &mut Vec<Action>) {
        match self.lock.take_phase(job) {
            Some(Phase::ReleasingPins) => {
                if complete {
                    self.pins.due = self.pins.due.saturating_sub(1);
                }
                self.finish(job, Ok(Outcome::Done), out);
            }
            other => self.lock.put_back(job, other),
        }
    }
}
