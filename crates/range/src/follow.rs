//! Records the writes to a range while its replacements are created.
//!
//! Cloning and opening databases takes time. Writes during that time are recorded here in the order in which they
//! became durable, and copied to the new ranges before these are served. So writers wait only for the copy of the last
//! few writes, after the range was frozen.

use parking_lot::Mutex;
use partita_engine::{Write, WriteError};
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum bytes of recorded writes that have not been taken yet: two seconds of writes at full speed.
const FOLLOWED_BYTES_MAX: usize = 64 << 20;

/// Why the recorded writes are incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// A write failed with an unknown outcome.
    #[error("the outcome of a write is unknown")]
    OutcomeUnknown,
    /// The recorded writes exceeded the limit.
    #[error(
        "clients wrote more than 64 MiB before it could be copied; retry when fewer rows are written"
    )]
    TooManyWrites,
}

/// The recorded writes to a range.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    on: AtomicBool,
    followed: Mutex<Followed>,
}

#[derive(Debug, Default)]
struct Followed {
    writes: Vec<Write>,
    bytes: usize,
    lost: Option<FollowError>,
}

impl Follow {
    /// Starts recording every batch that finishes from now on. Earlier batches are not recorded: the caller flushes the
    /// engine after this call, so they are in the files that are cloned.
    pub(crate) fn begin(&self) {
        *self.followed.lock() = Followed::default();
        self.on.store(true, Ordering::Release);
    }

    /// Stops recording, and drops the recorded writes.
    pub(crate) fn end(&self) {
        self.on.store(false, Ordering::Release);
        *self.followed.lock() = Followed::default();
    }

    /// Returns the writes since `begin` or the last `take`, in order, and their bytes.
    pub(crate) fn take(&self) -> Result<(Vec<Write>, usize), FollowError> {
        let mut followed = self.followed.lock();
        match followed.lost {
            Some(lost) => Err(lost),
            None => {
                let Followed { writes, bytes, .. } = std::mem::take(&mut *followed);
                Ok((writes, bytes))
            }
        }
    }

    /// Records a finished batch. Called in the order in which batches take effect.
    pub(crate) fn note(&self, writes: &[Write], result: Result<(), WriteError>) {
        if !self.on.load(Ordering::Acquire) {
            return;
        }
        let mut followed = self.followed.lock();
        // Checked again under the lock: `end` may have run after the first check, and then a write added now would
        // never be dropped.
        if !self.on.load(Ordering::Acquire) {
            return;
        }
        match result {
            Ok(()) => followed.add(writes),
            Err(WriteError::Refused(_)) => {}
            Err(WriteError::Unknown) => followed.lose(FollowError::OutcomeUnknown),
        }
    }
}

impl Followed {
    fn add(&mut self, writes: &[Write]) {
        if self.lost.is_some() {
            return;
        }
        self.bytes += writes.iter().map(Write::bytes).sum::<usize>();
        if self.bytes > FOLLOWED_BYTES_MAX {
            return self.lose(FollowError::TooManyWrites);
        }
        self.writes.extend_from_slice(writes);
    }

    fn lose(&mut self, why: FollowError) {
        *self = Self {
            lost: Some(why),
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use partita_engine::Refusal;

    fn write(key: &'static str, bytes: usize) -> [Write; 1] {
        [Write {
            key: Bytes::from_static(key.as_bytes()),
            value: Some(vec![0; bytes].into()),
        }]
    }

    fn taken(follow: &Follow) -> Vec<Bytes> {
        let (writes, _) = follow.take().unwrap();
        writes.into_iter().map(|write| write.key).collect()
    }

    #[test]
    fn effective_writes_are_recorded_in_order_and_once() {
        let follow = Follow::default();
        follow.note(&write("before", 1), Ok(()));
        follow.begin();
        follow.note(&write("b", 1), Ok(()));
        follow.note(&write("refused", 1), Err(Refusal::DiskFull.into()));
        follow.note(&write("a", 1), Ok(()));
        assert_eq!(taken(&follow), ["b", "a"]);
        follow.note(&write("c", 1), Ok(()));
        assert_eq!(taken(&follow), ["c"]);
        follow.end();
        follow.note(&write("after", 1), Ok(()));
        assert_eq!(taken(&follow), Vec::<Bytes>::new());
    }

    #[test]
    fn a_write_with_an_unknown_outcome_fails_the_recording() {
        let follow = Follow::default();
        follow.begin();
        follow.note(&write("a", 1), Err(WriteError::Unknown));
        follow.note(&write("b", 1), Ok(()));
        assert_eq!(follow.take().unwrap_err(), FollowError::OutcomeUnknown);
        follow.begin();
        for _ in 0..3 {
            follow.note(&write("a", FOLLOWED_BYTES_MAX / 2), Ok(()));
        }
        assert_eq!(follow.take().unwrap_err(), FollowError::TooManyWrites);
        follow.begin();
        assert_eq!(taken(&follow), Vec::<Bytes>::new());
    }
}
