//! Faults to order, for tests of rooms above: a batch that is refused or whose outcome nobody knows, a read that is not answered.
//! Outside tests there are none, and nothing to order them with.

use crate::{Batch, KeyRange, ReadError, Refusal, WriteError};

/// What befalls a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused.
    Refused,
    /// It is not done, and nobody knows.
    Lost,
    /// It is done, and nobody knows.
    Unanswered,
}

impl Fault {
    pub(super) const fn is_done(self) -> bool {
        matches!(self, Self::Unanswered)
    }

    pub(super) fn error(self) -> WriteError {
        match self {
            Self::Refused => Refusal::Busy.into(),
            Self::Lost | Self::Unanswered => WriteError::Unknown,
        }
    }
}

/// Which calls fail.
#[derive(Default)]
pub struct Faults {
    #[cfg(any(test, feature = "conformance"))]
    writes: parking_lot::Mutex<Option<WriteFaults>>,
    #[cfg(any(test, feature = "conformance"))]
    reads: parking_lot::Mutex<Option<ReadFaults>>,
}

#[cfg(any(test, feature = "conformance"))]
type WriteFaults = Box<dyn FnMut(&Batch) -> Option<Fault> + Send>;
#[cfg(any(test, feature = "conformance"))]
type ReadFaults = Box<dyn FnMut(&KeyRange) -> Option<ReadError> + Send>;

#[cfg(any(test, feature = "conformance"))]
impl Faults {
    /// Says of each batch from now on whether something befalls it.
    pub fn of_writes(&self, choose: impl FnMut(&Batch) -> Option<Fault> + Send + 'static) {
        *self.writes.lock() = Some(Box::new(choose));
    }

    /// Says of each step of a scan from now on, which is about to read this range, whether it fails.
    pub fn of_scans(&self, choose: impl FnMut(&KeyRange) -> Option<ReadError> + Send + 'static) {
        *self.reads.lock() = Some(Box::new(choose));
    }

    pub(super) fn write(&self, batch: &Batch) -> Option<Fault> {
        self.writes.lock().as_mut().and_then(|choose| choose(batch))
    }

    pub(super) fn scan(&self, range: &KeyRange) -> Option<ReadError> {
        self.reads.lock().as_mut().and_then(|choose| choose(range))
    }
}

#[cfg(not(any(test, feature = "conformance")))]
#[allow(clippy::unused_self, reason = "in tests it is asked")]
impl Faults {
    pub(super) const fn write(&self, _batch: &Batch) -> Option<Fault> {
        None
    }

    pub(super) const fn scan(&self, _range: &KeyRange) -> Option<ReadError> {
        None
    }
}
