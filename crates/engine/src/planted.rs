//! Planted bugs: an engine that violates its guarantees on purpose, to prove that a test detects it.
//!
//! Compiled only with the feature `planted-bugs`, which only `cargo harness bugs` builds. An environment variable
//! activates a bug by its name, in the syntax of the crate `fail`: `FAILPOINTS=half-batch=return`. The crates above
//! plant their bugs the same way: in decorators and in code that runs once for each range, never in functions that
//! serve requests.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use partita_rt::Tasks;
pub use partita_wal::planted::is_active;

use crate::pipeline::{Intake, Queued};
use crate::{
    Batch, ChangeError, Collected, Engine, FileLayout, Health, KeyRange, Permit, ReadError, Rows,
    Scan, ScanHint, Write, WriteError,
};

/// How long `read-not-durable` shows a batch to reads before it submits the batch to the engine.
const READABLE_EARLY: Duration = Duration::from_millis(10);

/// Plants the bugs of an engine. `end` is the first key after its range.
pub fn plant(engine: Arc<dyn Engine>, end: Option<Bytes>) -> Arc<dyn Engine> {
    Arc::new(PlantedEngine {
        engine,
        end,
        pending: Arc::default(),
    })
}

/// Submitted rows that are not durable yet; the planted bug read-not-durable returns them.
type Pending = Mutex<BTreeMap<Bytes, Option<Bytes>>>;

struct PlantedEngine {
    engine: Arc<dyn Engine>,
    end: Option<Bytes>,
    pending: Arc<Pending>,
}

#[async_trait]
impl Engine for PlantedEngine {
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError> {
        let mut permit = self.engine.reserve(bytes).await?;
        permit.intake = Arc::new(PlantedIntake {
            intake: permit.intake,
            pending: Arc::clone(&self.pending),
        });
        Ok(permit)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        let pending = self.pending.lock().get(key).cloned();
        match pending {
            Some(value) => Ok(value),
            None => self.engine.get(key).await,
        }
    }

    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        // Only pages of queries keep their blocks and end before a key.
        let is_page = hint.cache && matches!(range.end, Bound::Excluded(_));
        let range_end = self.end.clone().map(Bound::Excluded);
        let skips_last =
            is_page && range_end.as_ref() == Some(&range.end) && is_active("scan-skips-last");
        // A later page of a query starts at the key of a row.
        let skipped = match &range.start {
            Bound::Included(start) if is_page && is_active("token-off-by-one") => {
                Some(start.clone())
            }
            _ => None,
        };
        Ok(Box::new(PlantedScan {
            scan: self.engine.scan(range, hint).await?,
            skipped,
            skips_last,
            last: None,
        }))
    }

    fn file_layout(&self) -> FileLayout {
        self.engine.file_layout()
    }

    fn health(&self) -> Health {
        self.engine.health()
    }

    async fn flush(&self) -> Result<(), WriteError> {
        self.engine.flush().await
    }

    async fn await_flush_room(&self) -> Result<(), WriteError> {
        self.engine.await_flush_room().await
    }

    async fn detach(&self) -> Result<(), ChangeError> {
        self.engine.detach().await
    }

    async fn reclaim(&self) -> Result<(), ChangeError> {
        self.engine.reclaim().await
    }

    async fn collect(&self) -> Result<Collected, ChangeError> {
        self.engine.collect().await
    }

    async fn checkpoint(&self, lifetime: Duration) -> Result<String, ChangeError> {
        self.engine.checkpoint(lifetime).await
    }

    async fn close(&self) {
        self.engine.close().await;
    }
}

struct PlantedIntake {
    intake: Arc<dyn Intake>,
    pending: Arc<Pending>,
}

impl Intake for PlantedIntake {
    fn take(&self, mut queued: Queued) {
        let intake = Arc::clone(&self.intake);
        if is_active("ack-before-durable") {
            if let Some(done) = queued.done.replace(Box::new(|_| ())) {
                done(Ok(()));
            }
            intake.take(queued);
        } else if is_active("half-batch") && queued.batch.len() > 1 {
            let mut writes = std::mem::take(&mut queued.batch).into_writes();
            queued.batch = batch(writes.split_off(writes.len() / 2));
            let done = Box::new(move |_| intake.take(queued));
            self.intake.take(Queued::new(batch(writes), done, None));
        } else if is_active("read-not-durable") {
            let writes = queued.batch.writes().to_vec();
            self.pending
                .lock()
                .extend(writes.iter().cloned().map(|write| (write.key, write.value)));
            let (pending, done) = (Arc::clone(&self.pending), queued.done.take());
            queued.done = Some(Box::new(move |result| {
                pending
                    .lock()
                    .retain(|key, _| writes.iter().all(|write| write.key != key));
                if let Some(done) = done {
                    done(result);
                }
            }));
            Tasks::new().spawn("planted bug", async move {
                tokio::time::sleep(READABLE_EARLY).await;
                intake.take(queued);
            });
        } else {
            intake.take(queued);
        }
    }
}

fn batch(writes: Vec<Write>) -> Batch {
    let mut batch = Batch::with_capacity(writes.len());
    for write in writes {
        batch.push(write);
    }
    batch
}

struct PlantedScan {
    scan: Box<dyn Scan>,
    /// The key of the row that `token-off-by-one` omits.
    skipped: Option<Bytes>,
    skips_last: bool,
    /// The last row read, which `scan-skips-last` holds back until the next row arrives.
    last: Option<(Bytes, Bytes)>,
}

#[async_trait]
impl Scan for PlantedScan {
    async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Rows, ReadError> {
        loop {
            let more = self.scan.next(rows_max, bytes_max).await?;
            if more.is_empty() {
                return Ok(more);
            }
            let mut rows: Vec<_> = self.last.take().into_iter().chain(more).collect();
            rows.retain(|(key, _)| Some(key) != self.skipped.as_ref());
            if self.skips_last {
                self.last = rows.pop();
            }
            if !rows.is_empty() {
                return Ok(rows.into_iter().collect());
            }
        }
    }
}
