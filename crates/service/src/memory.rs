//! The memory for bytes in flight: request bodies until they are executed, pages of queries, and answers until the client
//! has received them. All connections share one budget, so clients that send or receive slowly cannot fill the memory
//! together.
//!
//! Small bodies and answers are not counted: a connection holds at most [`UNCOUNTED_BYTES`] of each. So most requests do not
//! touch the budget, and they are served even while others have taken all of it.

use crate::{Busy, BusyReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes that a body, a page or an answer may hold without a reservation. Large enough for most single entities; 10,000
/// connections can hold 160 MiB of answers in this way.
pub const UNCOUNTED_BYTES: usize = 16 << 10;

/// The Retry-After of a refusal. Clients that hold memory finish, or are disconnected, within seconds.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The bytes in flight of a server, and their limit.
#[derive(Debug)]
pub struct MemoryBudget {
    bytes_max: u64,
    bytes: AtomicU64,
}

impl MemoryBudget {
    /// A budget of this size.
    #[must_use]
    pub fn new(bytes_max: u64) -> Arc<Self> {
        let bytes = AtomicU64::new(0);
        Arc::new(Self { bytes_max, bytes })
    }

    /// A budget without a limit.
    #[must_use]
    pub fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX)
    }

    /// The limit.
    #[must_use]
    pub const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The bytes reserved now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The bytes that can still be reserved.
    #[must_use]
    pub fn room(&self) -> usize {
        let bytes = self.bytes_max.saturating_sub(self.bytes());
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn take(&self, more: u64) -> Result<(), Busy> {
        let within = |bytes: u64| {
            let bytes = bytes.checked_add(more)?;
            (bytes <= self.bytes_max).then_some(bytes)
        };
        let taken = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        taken.map(drop).map_err(|bytes| Busy {
            reason: BusyReason::Memory,
            retry_after: RETRY_AFTER,
            detail: format!(
                "{bytes} of {} bytes for bodies and answers are in use, and {more} more are needed (--memory-in-flight)",
                self.bytes_max
            )
            .into(),
        })
    }
}

/// A reserved part of a budget. Dropping it releases the part.
#[derive(Debug, Default)]
pub struct Reserved {
    /// `None` until something is reserved, so that an empty reservation costs nothing.
    budget: Option<Arc<MemoryBudget>>,
    bytes: u64,
}

impl Reserved {
    /// Grows the reservation to `bytes`. A smaller or equal number changes nothing.
    ///
    /// # Errors
    /// [`Busy`] if the budget has no room; the reservation is unchanged.
    pub fn grow_to(&mut self, budget: &Arc<MemoryBudget>, bytes: usize) -> Result<(), Busy> {
        let more = (bytes as u64).saturating_sub(self.bytes);
        if more > 0 {
            budget.take(more)?;
            self.add(budget, more);
        }
        Ok(())
    }

    /// Grows the reservation to `bytes`, beyond the limit if necessary. For the answer to an executed write: a refusal
    /// would be wrong, because the write has happened.
    pub fn grow_beyond_limit(&mut self, budget: &Arc<MemoryBudget>, bytes: usize) {
        let more = (bytes as u64).saturating_sub(self.bytes);
        if more > 0 {
            budget.bytes.fetch_add(more, Ordering::Relaxed);
            self.add(budget, more);
        }
    }

    fn add(&mut self, budget: &Arc<MemoryBudget>, more: u64) {
        self.budget.get_or_insert_with(|| Arc::clone(budget));
        self.bytes += more;
    }

    /// The bytes reserved.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_budget_refuses_until_a_part_is_given_back() {
        let budget = MemoryBudget::new(100);
        let (mut first, mut second) = (Reserved::default(), Reserved::default());
        first.grow_to(&budget, 60).unwrap();
        first.grow_to(&budget, 40).unwrap();
        let refused = second.grow_to(&budget, 41).unwrap_err();
        assert_eq!(refused.reason, BusyReason::Memory);
        assert!(refused.detail.contains("60 of 100 bytes"), "{refused}");
        assert_eq!((second.bytes(), budget.bytes()), (0, 60));
        assert_eq!(budget.room(), 40);
        second.grow_to(&budget, 40).unwrap();
        assert!(first.grow_to(&budget, 61).is_err());
        drop(second);
        first.grow_to(&budget, 100).unwrap();
        drop(first);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn the_answer_to_a_write_is_counted_beyond_the_limit() {
        let budget = MemoryBudget::new(10);
        let mut answer = Reserved::default();
        answer.grow_beyond_limit(&budget, 25);
        assert_eq!((budget.bytes(), budget.room()), (25, 0));
        assert!(Reserved::default().grow_to(&budget, 1).is_err());
        drop(answer);
        assert_eq!(budget.bytes(), 0);
    }
}
