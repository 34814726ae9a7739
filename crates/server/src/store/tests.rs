//! The data of one process, opened, taken over, closed and opened again.

use std::sync::Arc;
use std::time::Duration;

use partita_engine::Health;
use partita_rt::Tasks;

use super::OpenRanges;
use crate::config::tests::from_flags;
use crate::environment::Environment;

/// A shared folder, which is used by several processes in one.
struct Shared {
    directory: tempfile::TempDir,
    environment: Environment,
}

/// The open data, with its background tasks.
struct Opened {
    ranges: OpenRanges,
    tasks: Tasks,
}

impl Shared {
    async fn open(&self) -> Opened {
        let url = format!("file://{}", self.directory.path().display());
        // Old files are deleted soon, so newer manifests are looked for often.
        let settings = from_flags(&[("store", &url), ("garbage-age", "400ms")]);
        let tasks = Tasks::new();
        let (store, environment) = (&settings.store, &self.environment);
        let opening = OpenRanges::open(store, environment, tasks.clone());
        let ranges = opening.await.unwrap();
        Opened { ranges, tasks }
    }
}

impl Opened {
    fn health(&self) -> Health {
        self.ranges.cluster.engines().health()
    }

    async fn fenced(&self) -> Arc<str> {
        self.ranges.cluster.engines().fenced().await
    }

    async fn close(self) {
        let late = self.tasks.drain(Duration::from_secs(60)).await;
        assert!(late.is_empty(), "{late:?}");
        self.ranges.cluster.close().await;
        assert_eq!(self.health(), Health::Closed);
    }
}

/// A server becomes a standby and takes over again, without a new process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_that_was_taken_over_is_closed_and_opened_again() {
    let shared = Shared {
        directory: tempfile::tempdir().unwrap(),
        environment: Environment::default(),
    };
    let first = shared.open().await;
    let second = shared.open().await;
    let by = first.fenced().await;
    assert!(by.contains("sealed by life 0000000000000002"), "{by}");
    assert_eq!(first.health(), Health::Fenced);
    first.close().await;

    assert_eq!(second.health(), Health::Healthy);
    let again = shared.open().await;
    let by = second.fenced().await;
    assert!(by.contains("sealed by life 0000000000000003"), "{by}");
    let id = |opened: &Opened| {
        opened
            .ranges
            .remote
            .as_ref()
            .map(|remote| remote.id.clone())
    };
    assert_eq!(id(&second), id(&again));
    second.close().await;
    assert_eq!(again.health(), Health::Healthy);
    again.close().await;
}
