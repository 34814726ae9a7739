//! Bugs planted on purpose, to see that the tests catch them.
//!
//! They exist only in builds with the feature `planted-bugs`, which nothing but `cargo harness bugs` makes, and only the one that
//! `PARTITA_BUG` names is awake. In every other build [`is_planted`] is `false` at compile time.

/// A bug that could have been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A write is acknowledged before it is durable.
    AckBeforeDurable,
    /// The ETag is compared with a row that was read before the lock was held.
    EtagOutsideLock,
    /// A page that ends early names the row behind the next one.
    TokenOffByOne,
    /// A write that went by an old map is taken by a range that is being replaced.
    StaleMap,
    /// A batch is committed in two halves.
    HalfBatch,
    /// A scan that ends with its range leaves out the last row.
    ScanSkipsLast,
    /// A split takes over what was flushed, not what came since.
    SplitDropsTail,
    /// A read shows a write that is not durable yet.
    ReadNotDurable,
    /// A write leaves the older row in the cache.
    CacheKeepsOld,
    /// A write does not note its key in the filter of known keys.
    FilterForgets,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::AckBeforeDurable,
        Self::EtagOutsideLock,
        Self::TokenOffByOne,
        Self::StaleMap,
        Self::HalfBatch,
        Self::ScanSkipsLast,
        Self::SplitDropsTail,
        Self::ReadNotDurable,
        Self::CacheKeepsOld,
        Self::FilterForgets,
    ];

    /// Its name in `PARTITA_BUG`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AckBeforeDurable => "ack-before-durable",
            Self::EtagOutsideLock => "etag-outside-lock",
            Self::TokenOffByOne => "token-off-by-one",
            Self::StaleMap => "stale-map",
            Self::HalfBatch => "half-batch",
            Self::ScanSkipsLast => "scan-skips-last",
            Self::SplitDropsTail => "split-drops-tail",
            Self::ReadNotDurable => "read-not-durable",
            Self::CacheKeepsOld => "cache-keeps-old",
            Self::FilterForgets => "filter-forgets",
        }
    }
}

/// Whether a bug is awake.
#[cfg(not(feature = "planted-bugs"))]
#[must_use]
pub const fn is_planted(_: Bug) -> bool {
    false
}

/// Whether a bug is awake.
#[cfg(feature = "planted-bugs")]
#[must_use]
pub fn is_planted(bug: Bug) -> bool {
    static AWAKE: std::sync::OnceLock<Option<Bug>> = std::sync::OnceLock::new();
    let awake = AWAKE.get_or_init(|| {
        let name = std::env::var("PARTITA_BUG").ok()?;
        Bug::ALL.into_iter().find(|bug| bug.name() == name)
    });
    *awake == Some(bug)
}
