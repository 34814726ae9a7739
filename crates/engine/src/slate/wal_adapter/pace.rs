//! The pace of groups while the WAL is nearly full.
//!
//! A full WAL stops all writes until a flush releases a part of it, some tenths of a second later, and then takes that part
//! within a moment: writes would stop and go. So while the WAL is nearly full, groups wait a little, the longer the
//! fuller it is, and the WAL grows about as fast as flushes release it.
//!
//! ```text
//!  fullness   0 ───────────── 0.75 ──────────── 0.85 ─────────── 1
//!  pace              any        │   falls to that   │   falls      │ none
//!                               │   of the flushes  │   further    │
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Up to this fullness of the WAL, groups do not wait. When many ranges write, the WAL is at 0.7 without being overloaded.
const FREE: f64 = 0.75;

/// At this fullness, groups have the pace of the flushes.
const EVEN: f64 = 0.85;

/// The time over which the pace of the flushes is measured. They release the WAL in steps of some tenths of a second.
const WINDOW: Duration = Duration::from_secs(3);

/// The pause between two samples of a measurement.
const SAMPLE: Duration = Duration::from_millis(20);

/// The least time of a measurement.
const MEASURED_MIN: Duration = Duration::from_millis(500);

/// The longest wait of a group: the pace of the flushes is low also when there was little to flush.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// The pace that the module describes.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes of all groups so far.
    written: f64,
    /// At some moments, the bytes that flushes had released until then.
    released: VecDeque<(Instant, f64)>,
    /// When the next group may be written, if the WAL is nearly full.
    next: Option<Instant>,
}

impl Pace {
    /// How long a group of `bytes` has to wait, if it arrives at `now` when the WAL has `live_bytes` and this fullness.
    #[expect(clippy::cast_precision_loss, reason = "a pace needs few digits")]
    pub(super) fn wait(
        &mut self,
        bytes: usize,
        live_bytes: u64,
        fullness: f64,
        now: Instant,
    ) -> Duration {
        let released = self.written - live_bytes as f64;
        self.written += bytes as f64;
        let is_old = |at: &Instant| now.saturating_duration_since(*at) > WINDOW;
        while self.released.front().is_some_and(|(at, _)| is_old(at)) {
            self.released.pop_front();
        }
        let last = self.released.back().map(|(at, _)| *at);
        if last.is_none_or(|at| now.saturating_duration_since(at) >= SAMPLE) {
            self.released.push_back((now, released));
        }
        if fullness <= FREE {
            self.next = None;
            return Duration::ZERO;
        }
        let Some(rate) = self.bytes_per_second() else {
            return Duration::ZERO;
        };
        let share = (fullness - FREE) / (EVEN - FREE);
        let pause = Duration::try_from_secs_f64(bytes as f64 / rate * share).unwrap_or(WAIT_MAX);
        let begin = self.next.map_or(now, |next| next.max(now));
        let wait = begin.saturating_duration_since(now).min(WAIT_MAX);
        self.next = Some(now + wait + pause.min(WAIT_MAX));
        wait
    }

    /// The pace of the flushes.
    fn bytes_per_second(&self) -> Option<f64> {
        let ((begin, first), (end, last)) = (self.released.front()?, self.released.back()?);
        let measured = end.saturating_duration_since(*begin);
        let released = last - first;
        (measured >= MEASURED_MIN && released > 0.0).then(|| released / measured.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;
    /// The length of a full WAL.
    const FULL: f64 = 160.0 * MB;
    /// Bytes that a flush releases at once.
    const FLUSH: f64 = 32.0 * MB;
    /// Bytes of a group.
    const GROUP: f64 = 2.0 * MB;

    /// Groups that arrive as fast as the pace and a full WAL let them, for 20 s. Flushes release `flushed` bytes a second.
    /// Returns the longest wait and the bytes written a second, both in the second half.
    fn run(flushed: f64, arriving: f64) -> (Duration, f64) {
        let start = Instant::now();
        let (mut pace, mut live, mut now) = (Pace::default(), 0.0_f64, start);
        let mut flush_at = start + Duration::from_secs_f64(FLUSH / flushed);
        let (mut longest, mut written) = (Duration::ZERO, 0.0);
        let middle = start + Duration::from_secs(10);
        let end = start + Duration::from_secs(20);
        while now < end {
            let arrived = now;
            let flush = |live: &mut f64, flush_at: &mut Instant| {
                *live = (*live - FLUSH).max(0.0);
                *flush_at += Duration::from_secs_f64(FLUSH / flushed);
            };
            now += Duration::from_secs_f64(GROUP / arriving);
            if live >= FULL {
                now = now.max(flush_at);
            }
            while now >= flush_at {
                flush(&mut live, &mut flush_at);
            }
            now += pace.wait(GROUP as usize, live as u64, live / FULL, now);
            while now >= flush_at {
                flush(&mut live, &mut flush_at);
            }
            live += GROUP;
            if arrived >= middle {
                longest = longest.max(now - arrived);
                written += GROUP;
            }
        }
        (longest, written / 10.0)
    }

    #[test]
    fn groups_have_the_pace_of_flushes() {
        for flushed in [60.0, 120.0] {
            let (longest, rate) = run(flushed * MB, 400.0 * MB);
            assert!(
                longest < Duration::from_millis(120),
                "{flushed}: {longest:?}"
            );
            let share = rate / (flushed * MB);
            assert!((0.95..1.05).contains(&share), "{flushed}: {share}");
        }
    }

    #[test]
    fn groups_do_not_wait_while_flushes_keep_up() {
        let (longest, rate) = run(200.0 * MB, 100.0 * MB);
        assert!(longest <= Duration::from_millis(21), "{longest:?}");
        assert!(rate > 99.0 * MB);
    }

    #[test]
    fn a_long_rest_is_not_a_low_pace() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        assert_eq!(pace.wait(1_000_000, 0, 0.5, at(0.0)), Duration::ZERO);
        assert_eq!(pace.wait(1_000_000, 100, 0.9, at(60.0)), Duration::ZERO);
        assert_eq!(pace.wait(1_000_000, 100, 0.9, at(60.1)), Duration::ZERO);
    }
}
