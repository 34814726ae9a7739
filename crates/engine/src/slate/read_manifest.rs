//! The newest manifest that the compactor of a database has read.
//!
//! SlateDB finds new manifests by counting: a task that has read manifest N asks for N + 1. If garbage collection has
//! deleted that one meanwhile, the task takes N for the newest one forever. SlateDB's remedy is an object that is
//! overwritten conditionally, which a directory cannot do. The tasks of an open database share what they have read, but
//! a compactor beside it does not. So garbage collection keeps the manifests that the compactor has not read yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use partita_rt::store_layer::{Layer, Layered};
use slatedb::object_store::path::Path;
use slatedb::object_store::{GetOptions, GetResult, ObjectStore, Result};

use super::manifest_store::manifest_number;

/// The number of the newest manifest that was read through its layer; 0 before the first one.
#[derive(Debug, Default)]
pub(super) struct ReadManifest(AtomicU64);

impl ReadManifest {
    /// The store for the reader of manifests.
    pub(super) fn noting(self: &Arc<Self>, store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        let read = Arc::clone(self);
        Arc::new(Layered(Noting { store, read }))
    }

    /// Whether an object is a manifest newer than all that were read.
    pub(super) fn is_unread(&self, object: &Path) -> bool {
        manifest_number(object).is_some_and(|number| number > self.0.load(Ordering::Acquire))
    }
}

/// The layer that notes which manifests are read.
#[derive(Debug)]
struct Noting {
    store: Arc<dyn ObjectStore>,
    read: Arc<ReadManifest>,
}

#[async_trait]
impl Layer for Noting {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self.store.get_opts(location, options).await?;
        if let Some(number) = manifest_number(location) {
            self.read.0.fetch_max(number, Ordering::AcqRel);
        }
        Ok(found)
    }
}
