//! Following what is written to a range, for whoever makes the ranges that will replace it.
//!
//! Making them takes a while: files are moved, databases made and opened. Writes go on meanwhile, and are remembered here in the
//! order in which they became durable; they are written to the new ranges before those are served. So all that writers wait
//! for is what was not yet copied when the range was frozen.

use parking_lot::Mutex;
use partita_engine::{Write, WriteError};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of rows that are remembered. Two seconds of as many writes as there can be.
const FOLLOWED_BYTES_MAX: usize = 64 << 20;

/// Why not all writes of a range are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// A write failed in such a way that it may be there or not.
    #[error("what became of a write is not known")]
    OutcomeUnknown,
    /// More was written than is remembered.
    #[error("rows were written faster than they could be followed")]
    TooManyWrites,
}

/// What is remembered of the writes to a range.
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
    /// Remembers what is written from now on, and nothing of before. What is not remembered has come to its end: a flush that is
    /// begun after this moves it.
    pub(crate) fn begin(&self) {
        *self.followed.lock() = Followed::default();
        self.on.store(true, Ordering::Release);
    }

    /// Forgets all of it, and remembers nothing any more.
    pub(crate) fn end(&self) {
        self.on.store(false, Ordering::Release);
        *self.followed.lock() = Followed::default();
    }

    /// What was written since it was begun or last taken, in order, with its bytes.
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

    /// A batch has come to its end. Called in the order in which batches take effect.
    pub(crate) fn note(&self, writes: &[Write], result: Result<(), WriteError>) {
        if !self.on.load(Ordering::Acquire) {
            return;
        }
        let mut followed = self.followed.lock();
        // It may have been ended since, and nobody would forget this.
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
    fn what_took_effect_is_remembered_in_order_and_once() {
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
    fn a_write_that_is_lost_is_not_forgotten() {
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
