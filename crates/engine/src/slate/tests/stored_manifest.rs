//! SlateDB's manifest in memory is ahead of the stored one while it is written.

use async_trait::async_trait;
use partita_rt::store_layer::{Layer, Layered, Put};
use slatedb::object_store::path::Path as Location;
use slatedb::object_store::{ObjectStore, PutResult};
use tokio::sync::watch;

use super::*;

/// A store in which manifests can be held up.
#[derive(Debug)]
struct HeldManifests {
    store: Arc<dyn ObjectStore>,
    is_held: watch::Receiver<bool>,
}

#[async_trait]
impl Layer for HeldManifests {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn put(&self, location: &Location, put: Put) -> slatedb::object_store::Result<PutResult> {
        if location.extension() == Some("manifest") {
            let mut is_held = self.is_held.clone();
            // An error means that the test has ended.
            let _ = is_held.wait_for(|is_held| !is_held).await;
        }
        self.store
            .put_opts(location, put.payload, put.options)
            .await
    }
}

/// Otherwise a kill before the manifest is stored would lose the rows: they were in no file that it names, and no longer in
/// the WAL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wal_keeps_rows_until_the_manifest_that_has_them_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let (hold, is_held) = watch::channel(false);
    let mut home = Home::in_directory(Arc::new(DataDir::open(directory.path()).unwrap()));
    home.store = Arc::new(Layered(HeldManifests {
        store: home.store,
        is_held,
    }));
    let set = SlateEngineSet::in_home(home, Settings::default()).await;
    let one = One::of(set.unwrap()).await.unwrap();
    commit(&*one, put("a", "1")).await.unwrap();
    let database = one.set.core.open_range(conformance::FIRST).unwrap();
    let database = database.database().unwrap();
    let context = &one.set.core.context;
    let before = database.flushed_up_to();

    hold.send_replace(true);
    let looking = async {
        let deadline = Instant::now() + Duration::from_secs(20);
        while database.flushed_up_to() == before {
            assert!(Instant::now() < deadline, "the manifest does not change");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(database.stored_up_to(context).await, before);
        hold.send_replace(false);
    };
    let (flushed, ()) = tokio::join!(database.flush(), looking);
    flushed.unwrap();
    let after = database.flushed_up_to();
    assert!(after > before);
    assert_eq!(database.stored_up_to(context).await, after);
    drop(database);
    one.close().await;
}
