//! A limit on repeated log lines.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::world;

/// The time between two lines with the same key.
const PERIOD: Duration = Duration::from_secs(60);

/// The maximum number of keys within a period. Lines with further keys are not written.
const KEYS_MAX: usize = 64;

/// Permits one log line a minute for each key, because every request may meet the same fault.
#[derive(Debug, Default)]
pub struct LogLimit {
    last: Mutex<BTreeMap<String, Instant>>,
}

impl LogLimit {
    /// A limit that has permitted no line yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            last: Mutex::new(BTreeMap::new()),
        }
    }

    /// Whether a line with this key may be written now. Always in a simulation: the lines of a run must not depend on
    /// earlier runs of the process.
    pub fn permits(&self, key: &str, now: Instant) -> bool {
        if world::is_simulated() {
            return true;
        }
        let is_recent = |last: &Instant| now.saturating_duration_since(*last) < PERIOD;
        let mut last = self.last.lock();
        if last.get(key).is_some_and(is_recent) {
            return false;
        }
        if last.len() >= KEYS_MAX {
            last.retain(|_, last| is_recent(last));
        }
        let has_room = last.len() < KEYS_MAX;
        if has_room {
            last.insert(key.to_owned(), now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_permitted_once_a_minute() {
        let limit = LogLimit::new();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(limit.permits("a", at(0)));
        assert!(limit.permits("b", at(1)));
        assert!(!limit.permits("a", at(59)));
        assert!(limit.permits("a", at(60)));
        assert!(!limit.permits("b", at(60)));
    }

    #[test]
    fn many_keys_are_dropped_until_older_ones_expire() {
        let limit = LogLimit::new();
        let start = Instant::now();
        for key in 0..KEYS_MAX {
            assert!(limit.permits(&key.to_string(), start));
        }
        assert!(!limit.permits("another", start));
        assert!(limit.permits("another", start + PERIOD));
    }
}
