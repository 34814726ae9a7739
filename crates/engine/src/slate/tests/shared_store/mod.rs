//! Several processes over one object store, each an engine set of its own. A range moves between them.

mod clones;
mod crashes;
mod moves;
mod requests;
mod schedule;
mod store;

use futures::future::BoxFuture;
use partita_rt::Clock;
use partita_wal::remote;

use self::store::Store;
use super::*;
use crate::LogNumber;

const RANGE: RangeId = conformance::FIRST;

/// The store that all processes share.
#[derive(Clone, Default)]
struct Cluster {
    store: Store,
}

/// A process of the cluster. A kill drops it.
struct Process {
    set: SlateEngineSet,
    log: LogNumber,
}

impl std::ops::Deref for Process {
    type Target = SlateEngineSet;

    fn deref(&self) -> &Self::Target {
        &self.set
    }
}

impl Process {
    async fn of(home: Home, settings: Settings) -> Self {
        let set = SlateEngineSet::in_home(home, settings).await.unwrap();
        let log = set.log().unwrap();
        Self { set, log }
    }

    async fn take(&self, range: RangeId, logs: &[LogNumber]) -> Arc<dyn Engine> {
        self.set.take_over(range, logs, assigned()).await.unwrap()
    }
}

impl Cluster {
    fn home(&self) -> Home {
        Home::in_shared_store(self.store.as_dyn(), self.store.as_dyn(), Self::options())
    }

    fn options() -> remote::Options {
        remote::Options {
            gap: Duration::ZERO,
            ..remote::Options::default()
        }
    }

    /// Each read is answered by both readers.
    async fn start(&self) -> Process {
        let settings = Settings {
            reads: Reads::Compared,
            ..Settings::default()
        };
        Process::of(self.home(), settings).await
    }

    /// A process on a machine with this clock.
    async fn start_at(&self, clock: Arc<dyn Clock>) -> Process {
        let home = Home {
            clock,
            ..self.home()
        };
        Process::of(home, Settings::default()).await
    }

    /// A single server, which takes over the whole store.
    async fn start_single(&self) -> SlateEngineSet {
        let store = || self.store.as_dyn();
        let home = Home::in_object_store(store(), store(), Self::options());
        SlateEngineSet::in_home(home, Settings::default())
            .await
            .unwrap()
    }
}

/// The range is still assigned to the process that takes it over.
fn assigned() -> BoxFuture<'static, bool> {
    Box::pin(std::future::ready(true))
}

/// All rows, as text.
async fn texts(engine: &dyn Engine) -> Vec<(String, String)> {
    let rows = rows(engine, KeyRange::all(), 100).await;
    let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    rows.into_iter()
        .map(|(key, value)| (text(key), text(value)))
        .collect()
}

/// Asserts that the range has these rows, by a scan and by gets.
async fn expect(engine: &dyn Engine, expected: &[(&str, &str)]) {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let expected: Vec<_> = expected.iter().map(owned).collect();
    assert_eq!(texts(engine).await, expected);
    for (key, value) in &expected {
        let found = engine.get(key.as_bytes()).await.unwrap();
        assert_eq!(found.as_deref(), Some(value.as_bytes()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    conformance::run(async || Arc::new(Cluster::default().start().await.set) as Arc<dyn EngineSet>)
        .await;
}

#[tokio::test]
async fn a_store_of_one_process_takes_no_range_over() {
    let cluster = Cluster::default();
    let set = cluster.start_single().await;
    assert_eq!(set.log(), None);
    assert!(set.uncollected_logs().await.is_err());
    assert!(set.take_over(RANGE, &[], assigned()).await.is_err());
    let engine = set.open(RANGE).await.unwrap();
    assert!(set.hand_over(RANGE).await.is_err());
    commit(&*engine, put("key", "value")).await.unwrap();
    assert!(set.collect_logs(&[LogNumber(1)]).await.is_err());
    set.close().await;
}
