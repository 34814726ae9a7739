//! The catalog rows of other servers that this process has a lease of.

use super::ROWS_MAX;
use crate::{Error, FarRows};
use bytes::Bytes;
use parking_lot::Mutex;
use partita_rt::Clock;
use partita_rt::hash::RandomState;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::OnceCell;

/// Rows under lease. One task asks for a row at a time; others wait for its answer.
#[derive(Debug)]
pub(crate) struct LeasedRows {
    far: Arc<dyn FarRows>,
    clock: Arc<dyn Clock>,
    rows: Mutex<HashMap<Bytes, Arc<Asked>, RandomState>>,
    /// Orders the arrival of requests and the beginning of calls.
    events: AtomicU64,
}

/// A call to the server of the catalog, and its answer.
type Asked = OnceCell<Answer>;

#[derive(Debug)]
struct Answer {
    row: Result<Option<Bytes>, Error>,
    /// When the call began, in [`LeasedRows::events`].
    asked: u64,
    /// When the lease ends, by the clock of the time since boot.
    until: Duration,
}

impl LeasedRows {
    pub(crate) fn new(far: Arc<dyn FarRows>, clock: Arc<dyn Clock>) -> Self {
        Self {
            far,
            clock,
            rows: Mutex::default(),
            events: AtomicU64::new(0),
        }
    }

    /// The row of a key if this process has a lease of it.
    pub(crate) fn find(&self, key: &Bytes) -> Option<Bytes> {
        let rows = self.rows.lock();
        let answer = rows.get(key)?.get()?;
        let is_leased = answer.until > self.clock.boot();
        answer.row.as_ref().ok().filter(|_| is_leased)?.clone()
    }

    /// The row of a key: under lease, or as of a time after this function was called.
    pub(crate) async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        let arrived = self.next_event();
        loop {
            let asked = self.current(key);
            let answer = asked.get_or_init(|| self.ask(key)).await;
            if answer.until > self.clock.boot() {
                return answer.row.clone();
            }
            self.forget(key, &asked);
            // Without a lease, an answer to an earlier request may be too old for this one, which then asks again.
            if answer.asked > arrived {
                return answer.row.clone();
            }
        }
    }

    async fn ask(&self, key: &Bytes) -> Answer {
        let (asked, began) = (self.next_event(), self.clock.boot());
        match self.far.lease(key).await {
            Ok(leased) => Answer {
                // Copied, because the row may be a slice of what the connection read.
                row: Ok(leased.row.map(|row| Bytes::copy_from_slice(&row))),
                asked,
                until: began + leased.time,
            },
            Err(error) => Answer {
                row: Err(error),
                asked,
                until: Duration::ZERO,
            },
        }
    }

    fn next_event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed)
    }

    /// The call that runs or whose lease has not ended; a new one if there is none.
    fn current(&self, key: &Bytes) -> Arc<Asked> {
        let now = self.clock.boot();
        let is_current = |asked: &Asked| asked.get().is_none_or(|answer| answer.until > now);
        let mut rows = self.rows.lock();
        if let Some(asked) = rows.get(key).filter(|asked| is_current(asked)) {
            return Arc::clone(asked);
        }
        if rows.len() >= ROWS_MAX {
            rows.retain(|_, asked| is_current(asked));
            if rows.len() >= ROWS_MAX {
                rows.clear();
            }
        }
        let asked = Arc::<Asked>::default();
        rows.insert(key.clone(), Arc::clone(&asked));
        asked
    }

    /// The number of rows in memory.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.rows.lock().len()
    }

    fn forget(&self, key: &Bytes, asked: &Arc<Asked>) {
        let mut rows = self.rows.lock();
        if rows
            .get(key)
            .is_some_and(|current| Arc::ptr_eq(current, asked))
        {
            rows.remove(key);
        }
    }
}
