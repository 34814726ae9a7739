//! The object store of a simulation: in memory, with latency, every call in the trace.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectStore,
    PutMultipartOptions, PutResult, RenameOptions, Result,
};
use partita_rt::store_layer::{Layer, Listing, Paths, Put};

use crate::trace::Trace;

/// The store, as one server reaches it.
#[derive(Debug)]
pub(crate) struct SimulatedStore {
    objects: Arc<InMemory>,
    calls: Arc<Calls>,
}

/// The trace and the latency of all calls.
#[derive(Debug)]
struct Calls {
    /// The store in the trace.
    name: String,
    trace: Trace,
    random: Mutex<fastrand::Rng>,
    latency_max: Duration,
}

impl SimulatedStore {
    /// A store with these objects; each call takes up to `latency_max` of virtual time.
    pub(crate) fn new(
        name: String,
        objects: Arc<InMemory>,
        trace: Trace,
        random: fastrand::Rng,
        latency_max: Duration,
    ) -> Self {
        let calls = Calls {
            name,
            trace,
            random: Mutex::new(random),
            latency_max,
        };
        Self {
            objects,
            calls: Arc::new(calls),
        }
    }
}

impl Calls {
    async fn begin(&self, call: &str) {
        self.trace.note(&self.name, call);
        let micros = u64::try_from(self.latency_max.as_micros()).unwrap_or(u64::MAX);
        let micros = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            random.u64(0..=micros)
        };
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

#[async_trait]
impl Layer for SimulatedStore {
    fn below(&self) -> &dyn ObjectStore {
        &*self.objects
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let verb = if options.head { "head" } else { "get" };
        let call = format!("{verb} {location} {:?}", options.range);
        self.calls.begin(&call).await;
        self.objects.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.calls
            .begin(&format!("get {location} {ranges:?}"))
            .await;
        self.objects.get_ranges(location, ranges).await
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        let Put { payload, options } = put;
        let bytes = payload.content_length();
        let call = format!("put {location} {bytes} {:?}", options.mode);
        self.calls.begin(&call).await;
        self.objects.put_opts(location, payload, options).await
    }

    async fn put_parts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.calls.begin(&format!("put parts {location}")).await;
        self.objects.put_multipart_opts(location, options).await
    }

    fn delete(&self, locations: Paths) -> Paths {
        let calls = Arc::clone(&self.calls);
        let locations = locations.then(move |location| {
            let calls = Arc::clone(&calls);
            async move {
                if let Ok(location) = &location {
                    calls.begin(&format!("delete {location}")).await;
                }
                location
            }
        });
        self.objects.delete_stream(locations.boxed())
    }

    fn list(&self, prefix: Option<&Path>, after: Option<&Path>) -> Listing {
        let call = format!("list {prefix:?} after {after:?}");
        self.calls.trace.note(&self.calls.name, &call);
        match after {
            None => self.objects.list(prefix),
            Some(after) => self.objects.list_with_offset(prefix, after),
        }
    }

    async fn list_folder(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.calls.begin(&format!("list folders {prefix:?}")).await;
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.calls.begin(&format!("copy {from} {to}")).await;
        self.objects.copy_opts(from, to, options).await
    }

    async fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.calls.begin(&format!("rename {from} {to}")).await;
        self.objects.rename_opts(from, to, options).await
    }
}
