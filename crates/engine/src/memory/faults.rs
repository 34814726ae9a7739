//! Fault injection for tests of the crates above: refused batches, batches with an unknown outcome, failed reads.
//! Inactive outside tests.

use crate::{Batch, KeyRange, ReadError, Refusal, WriteError};

/// How a batch fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The batch is refused.
    Refused,
    /// The batch is not written, and its outcome is reported as unknown.
    Lost,
    /// The batch is written, and its outcome is reported as unknown.
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
    /// Sets the function that decides for each batch whether and how it fails.
    pub fn of_writes(&self, choose: impl FnMut(&Batch) -> Option<Fault> + Send + 'static) {
        *self.writes.lock() = Some(Box::new(choose));
    }

    /// Sets the function that decides for each step of a scan whether it fails. Its argument is the range still to be
    /// read.
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
impl Faults {
    pub(super) const fn write(&self, _batch: &Batch) -> Option<Fault> {
        None
    }

    pub(super) const fn scan(&self, _range: &KeyRange) -> Option<ReadError> {
        None
    }
}
