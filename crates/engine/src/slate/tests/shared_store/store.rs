//! The object store of a cluster in memory. It counts requests, and can hold back the data files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use partita_rt::store_layer::{Layer, Layered, Listing, Put};
use slatedb::object_store::memory::InMemory;
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    Error, GetOptions, GetResult, ListResult, ObjectStore, PutResult, Result,
};
use tokio::sync::watch;

/// Counts of requests. Background work of the databases makes some at any time, but none that reads a log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requests {
    pub(super) gets: usize,
    /// Those of `gets` that read a log.
    pub(super) log_gets: usize,
    pub(super) puts: usize,
    pub(super) lists: usize,
}

impl std::ops::Sub for Requests {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            gets: self.gets - before.gets,
            log_gets: self.log_gets - before.log_gets,
            puts: self.puts - before.puts,
            lists: self.lists - before.lists,
        }
    }
}

fn is_log(location: &Path) -> bool {
    location.as_ref().starts_with("log/")
}

/// The store. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Store(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    objects: InMemory,
    requests: Mutex<Requests>,
    /// Whether PUTs of data files wait.
    held: watch::Sender<bool>,
    /// Whether PUTs of a log are refused.
    refuses_logs: AtomicBool,
    /// The number of PUTs that have waited or wait.
    waiting: watch::Sender<usize>,
}

impl Store {
    pub(super) fn as_dyn(&self) -> Arc<dyn ObjectStore> {
        Arc::new(Layered(self.clone()))
    }

    pub(super) fn requests(&self) -> Requests {
        *self.0.requests.lock()
    }

    /// Refuses PUTs of a log, or lets them through.
    pub(super) fn refuse_logs(&self, refused: bool) {
        self.0.refuses_logs.store(refused, Ordering::Relaxed);
    }

    /// Holds back PUTs of data files, or releases them.
    pub(super) fn hold_files(&self, held: bool) {
        self.0.held.send_replace(held);
    }

    /// Waits until a PUT of a data file waits.
    pub(super) async fn file_is_held(&self) {
        self.files_are_held(1).await;
    }

    /// Waits until so many PUTs of data files wait.
    pub(super) async fn files_are_held(&self, files: usize) {
        let mut waiting = self.0.waiting.subscribe();
        waiting.wait_for(|count| *count >= files).await.unwrap();
    }
}

#[async_trait]
impl Layer for Store {
    fn below(&self) -> &dyn ObjectStore {
        &self.0.objects
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        {
            let mut requests = self.0.requests.lock();
            requests.gets += 1;
            requests.log_gets += usize::from(is_log(location));
        }
        self.below().get_opts(location, options).await
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        self.0.requests.lock().puts += 1;
        if location.extension() == Some("sst") && *self.0.held.borrow() {
            self.0.waiting.send_modify(|count| *count += 1);
            let mut held = self.0.held.subscribe();
            // The sender lives as long as the store.
            let _ = held.wait_for(|held| !held).await;
        }
        if is_log(location) && self.0.refuses_logs.load(Ordering::Relaxed) {
            return Err(Error::PermissionDenied {
                path: location.to_string(),
                source: "403".into(),
            });
        }
        let below = self.below();
        below.put_opts(location, put.payload, put.options).await
    }

    fn list(&self, prefix: Option<&Path>, after: Option<&Path>) -> Listing {
        self.0.requests.lock().lists += 1;
        match after {
            None => self.below().list(prefix),
            Some(after) => self.below().list_with_offset(prefix, after),
        }
    }

    async fn list_folder(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.requests.lock().lists += 1;
        self.below().list_with_delimiter(prefix).await
    }
}
