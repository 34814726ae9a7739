//! What is remembered of a range between two rounds.

use super::{PlacementSettings, RangeView};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A move is forgotten after this time.
const FORGET_MOVES: Duration = Duration::from_secs(3_600);

/// The observations of a range, and the last decision on it.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The smoothed load in processors.
    pub(super) cores: f64,
    /// The highest smoothed load, which falls slowly.
    pub(super) peak: f64,
    sampled: Option<Instant>,
    owner: Option<Arc<str>>,
    /// When it last got another owner, or another owner was decided.
    moved: Option<Instant>,
    /// How often that was within [`FORGET_MOVES`] of the time before.
    repeated: u32,
    /// The last decision.
    decided: Option<Decided>,
}

#[derive(Debug)]
struct Decided {
    to: Arc<str>,
    at: Instant,
}

impl Known {
    /// Adds the observation of a round.
    pub(super) fn note(&mut self, now: Instant, range: &RangeView, settings: &PlacementSettings) {
        if let Some(cores) = range.cores {
            self.sample(now, cores, settings);
        }
        if range.owner != self.owner {
            let decided = self.decided.as_ref().map(|decided| &decided.to);
            if self.owner.is_some() && range.owner.is_some() && range.owner.as_ref() != decided {
                self.note_moved(now);
            }
            self.owner.clone_from(&range.owner);
        }
    }

    /// The first sample counts in full, so that the load of a new range is known at once.
    fn sample(&mut self, now: Instant, cores: f64, settings: &PlacementSettings) {
        let elapsed = self.sampled.map(|sampled| now - sampled);
        let kept = |memory: Duration| {
            elapsed.map_or(0.0, |elapsed| {
                (-elapsed.as_secs_f64() / memory.as_secs_f64()).exp()
            })
        };
        self.cores = cores + (self.cores - cores) * kept(settings.smoothing);
        self.peak = self.cores.max(self.peak * kept(settings.peak_memory));
        self.sampled = Some(now);
    }

    fn note_moved(&mut self, now: Instant) {
        self.repeated = match self.moved {
            Some(moved) if now - moved < FORGET_MOVES => self.repeated + 1,
            _ => 0,
        };
        self.moved = Some(now);
    }

    /// Records a decision.
    pub(super) fn decide(&mut self, now: Instant, to: &Arc<str>) {
        self.note_moved(now);
        self.decided = Some(Decided {
            to: Arc::clone(to),
            at: now,
        });
    }

    /// Whether its owner changed less than `cool_down` ago; if it has changed several times lately, four times as long
    /// for each, up to an hour. Otherwise a range whose load suits no server would be moved again and again.
    pub(super) fn is_settling(&self, now: Instant, cool_down: Duration) -> bool {
        let times = 4_u32.saturating_pow(self.repeated);
        let time = cool_down.saturating_mul(times).min(FORGET_MOVES);
        self.moved.is_some_and(|moved| now - moved < time)
    }

    /// The server of the last decision, if it is younger than `lasts`.
    pub(super) fn decided(&self, now: Instant, lasts: Duration) -> Option<&Arc<str>> {
        let decided = self.decided.as_ref()?;
        (now - decided.at < lasts).then_some(&decided.to)
    }
}
