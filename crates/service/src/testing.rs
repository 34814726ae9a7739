//! Servers of a test: storages in one process that reach the rows of each other without a network.

use crate::{Busy, Error, FarPage, FarRows, FarWrite, LeasedRow, Storage};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use partita_cluster::{Epoch, PartitionMap, Served};
use partita_engine::memory::MemoryEngine;
use partita_range::{Bounds, RangeId};
use partita_rt::Clock;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How a call to another server fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarFault {
    /// The call does not reach the server.
    Unreachable,
    /// The server executes the call, but its answer is lost.
    AnswerLost,
}

/// A range to be served.
#[derive(Clone)]
pub struct TestRange {
    /// The bounds of its keys.
    pub bounds: Bounds,
    /// Its rows. They stay when another server takes over the range.
    pub engine: Arc<MemoryEngine>,
}

impl fmt::Debug for TestRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bounds.fmt(f)
    }
}

impl TestRange {
    /// Ranges without rows that have all keys, cut at these keys.
    pub fn cut_at(cuts: &[Bytes]) -> Vec<Self> {
        let ends = cuts.iter().cloned().map(Some).chain([None]);
        let starts = std::iter::once(Bytes::new()).chain(cuts.iter().cloned());
        let range = |(start, end)| Self {
            bounds: Bounds { start, end },
            engine: Arc::default(),
        };
        starts.zip(ends).map(range).collect()
    }
}

/// The durations of a call from the caller to the server, and back.
type Delays = Box<dyn FnMut() -> [Duration; 2] + Send>;

/// Which storage serves which range, and how the calls between them fail. Storages have to be kept by the test.
#[derive(Default)]
pub struct TestServers {
    /// The last server of a range counts.
    hosted: Mutex<Vec<(Bounds, Weak<Storage>)>>,
    fault: Mutex<Option<FarFault>>,
    delays: Mutex<Option<Delays>>,
    calls: AtomicUsize,
}

impl fmt::Debug for TestServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServers").finish_non_exhaustive()
    }
}

impl TestServers {
    /// No servers.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A server of these ranges, which it takes over from the servers before it.
    ///
    /// # Panics
    /// If the ranges overlap.
    pub fn start(self: &Arc<Self>, ranges: &[&TestRange], clock: Arc<dyn Clock>) -> Arc<Storage> {
        let served = (1..).zip(ranges).map(|(id, range)| {
            let engine = Arc::clone(&range.engine);
            let bounds = range.bounds.clone();
            Served {
                tenure: 0,
                epoch: Epoch(1),
                range: Arc::new(partita_range::Range::new(
                    RangeId(id),
                    bounds,
                    engine,
                    Arc::default(),
                )),
            }
        });
        let map = PartitionMap::new(served.collect()).expect("ranges of a test do not overlap");
        let far = Arc::clone(self) as Arc<dyn FarRows>;
        let storage = Arc::new(Storage::new(Arc::new(map), clock).with_far_rows(far));
        let mut hosted = self.hosted.lock();
        for range in ranges {
            hosted.push((range.bounds.clone(), Arc::downgrade(&storage)));
        }
        drop(hosted);
        storage
    }

    /// Lets all calls fail; `None` lets them succeed.
    pub fn set_fault(&self, fault: Option<FarFault>) {
        *self.fault.lock() = fault;
    }

    /// Delays each call and its answer, by tokio's time.
    pub fn set_delays(&self, delays: impl FnMut() -> [Duration; 2] + Send + 'static) {
        *self.delays.lock() = Some(Box::new(delays));
    }

    /// The number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn host(&self, key: &Bytes) -> Result<(Bounds, Arc<Storage>), Error> {
        let hosted = self.hosted.lock();
        let host = hosted.iter().rev().find(|(bounds, _)| bounds.contains(key));
        let host = host.and_then(|(bounds, storage)| Some((bounds.clone(), storage.upgrade()?)));
        host.ok_or_else(|| Busy::in_transit("no server of the test has the key").into())
    }

    async fn call<T>(
        &self,
        key: &Bytes,
        execute: impl AsyncFnOnce(&Storage) -> Result<T, Error> + Send,
        lost: Error,
    ) -> Result<T, Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let delays = self.delays.lock().as_mut().map(|delays| delays());
        let [before, after] = delays.unwrap_or_default();
        pass(before).await;
        let fault = *self.fault.lock();
        if fault == Some(FarFault::Unreachable) {
            return Err(Busy::in_transit("the other server is not reachable").into());
        }
        let (_, host) = self.host(key)?;
        let answer = execute(&host).await;
        // As with the gate of a lease, an answer leaves a server only while it has the range.
        if fault == Some(FarFault::AnswerLost) || !Arc::ptr_eq(&self.host(key)?.1, &host) {
            return Err(lost);
        }
        pass(after).await;
        answer
    }
}

async fn pass(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn lost_read() -> Error {
    Busy::in_transit("the answer of the other server was lost").into()
}

#[async_trait]
impl FarRows for TestServers {
    async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        let get = async |host: &Storage| host.serve_get(key).await;
        self.call(key, get, lost_read()).await
    }

    async fn lease(&self, key: &Bytes) -> Result<LeasedRow, Error> {
        let lease = async |host: &Storage| host.serve_lease(key).await;
        self.call(key, lease, lost_read()).await
    }

    async fn scan(
        &self,
        keys: Range<Bytes>,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<FarPage, Error> {
        let start = keys.start.clone();
        let scan = async |host: &Storage| host.serve_scan(keys, rows_max, bytes_max).await;
        self.call(&start, scan, lost_read()).await
    }

    async fn write(&self, changes: Vec<FarWrite>) -> Result<bool, Error> {
        let first = changes.first().map(|change| change.key.clone());
        let write = async |host: &Storage| host.serve_write(changes).await;
        let first = first.unwrap_or_default();
        self.call(&first, write, Error::OutcomeUnknown).await
    }

    fn range_end(&self, key: &Bytes) -> Option<Bytes> {
        self.host(key).ok()?.0.end
    }
}
