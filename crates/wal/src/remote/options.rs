//! The settings of a log in an object store.

use std::time::Duration;

use crate::retention::Limits;

/// How a log is written, and how long it may become.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The least time between the starts of two PUTs. A greater gap makes larger groups, so it costs fewer requests.
    pub gap: Duration,
    /// A range is due for a flush when it pins this many bytes of the log.
    pub flush_after_bytes: u64,
    /// A range is due for a flush when its oldest unflushed record has about this age.
    pub flush_after_age: Duration,
    /// Groups are refused while the log has this many unreleased bytes. Bounds the time of a take-over, and the memory
    /// for unflushed rows.
    pub live_bytes_max: u64,
    /// Objects are released in runs of at least this many bytes, or of an eighth of [`Options::flush_after_age`].
    pub segment_bytes: u64,
    /// After this time without a group, the log writes a group without records when that frees objects.
    pub rest: Duration,
    /// The deadline of one request, and a further second for each MiB. After it, the request is repeated.
    pub request_timeout: Duration,
    /// For how long a request is repeated. An append that fails after that has an unknown outcome. A server with a
    /// lease repeats until it loses the lease, and then poisons the WAL.
    pub patience: Duration,
}

impl Default for Options {
    /// At most 160 MiB and about 1,000 objects at a take-over.
    fn default() -> Self {
        Self {
            gap: Duration::from_millis(5),
            flush_after_bytes: 16 << 20,
            flush_after_age: Duration::from_secs(5),
            live_bytes_max: 160 << 20,
            segment_bytes: 2 << 20,
            rest: Duration::from_millis(200),
            request_timeout: Duration::from_secs(2),
            patience: Duration::from_secs(60),
        }
    }
}

/// The lower limit of `live_bytes_max`, which the rows of a single flush must not use up.
const LIVE_BYTES_MIN: u64 = 64 << 20;

impl Options {
    /// The default options, with at most about `unflushed_bytes_max` bytes of unflushed records if that is less than the
    /// default.
    #[must_use]
    pub fn within(unflushed_bytes_max: u64) -> Self {
        let usual = Self::default();
        let least = LIVE_BYTES_MIN.min(usual.live_bytes_max);
        Self {
            live_bytes_max: unflushed_bytes_max.clamp(least, usual.live_bytes_max),
            ..usual
        }
    }

    /// The age at which a run of objects ends.
    pub(super) fn segment_age(&self) -> Duration {
        self.flush_after_age / 8
    }

    pub(super) fn limits(&self) -> Limits {
        let segments = |bytes: u64| bytes.div_ceil(self.segment_bytes.max(1));
        Limits {
            flush_after_age: self.flush_after_age,
            ..Limits::new(
                self.segment_bytes,
                segments(self.flush_after_bytes),
                segments(self.live_bytes_max),
            )
        }
    }
}
