//! Servers of a cluster in this process, over a folder and a registry in memory.

mod targets;

use std::sync::Arc;
use std::time::Duration;

use partita_coordinator::{MemoryRegistry, Registry, Routes, Table};
use partita_peer::ClusterKey;
use partita_range::RangeId;
use partita_rt::{Clock, SystemClock};

use crate::config::tests::from_flags;
use crate::forwarding::tests::client::{create_table, put_row, read_row};
use crate::{Environment, Server};

/// Longer than anything takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The store and the key of a cluster, in a folder that is removed at the end, and its registry.
pub(super) struct Folder {
    folder: tempfile::TempDir,
    registry: Arc<dyn Registry>,
}

impl Folder {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("store")).unwrap();
        let key = ClusterKey::create().unwrap();
        key.write(&folder.path().join("key")).unwrap();
        let registry = Arc::new(MemoryRegistry::new(Arc::new(SystemClock)));
        Self { folder, registry }
    }

    /// Starts a server with these flags beside the usual ones.
    pub(super) async fn start(
        &self,
        name: &str,
        clock: Arc<dyn Clock>,
        flags: &[(&str, &str)],
    ) -> Server {
        let in_folder = |name: &str| self.folder.path().join(name).display().to_string();
        let (store, key) = (format!("file://{}", in_folder("store")), in_folder("key"));
        let state = in_folder(name);
        let usual = [
            ("store", &*store),
            ("coordinator", "etcd://localhost:1"),
            ("cluster-key", &key),
            ("state-dir", &state),
            ("server-name", name),
            ("peer-host", "127.0.0.1"),
            ("peer-port", "0"),
            ("advertise", "127.0.0.1"),
            ("table-port", "0"),
            ("queue-port", "0"),
        ];
        let environment = Environment {
            clock,
            registry: Some(Arc::clone(&self.registry)),
            ..Environment::default()
        };
        let settings = from_flags(&[&usual, flags].concat());
        Server::start_in(environment, settings).await.unwrap()
    }
}

/// The copy of the registry's keys that a server has.
pub(super) fn routes(server: &Server) -> Routes {
    server.status().cluster_view().unwrap().routes.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_only_what_its_roles_say() {
    let folder = Folder::new();
    let mut servers = Vec::new();
    for (name, roles) in [("a", "front"), ("b", "ranges"), ("c", "manager")] {
        let clock = Arc::new(SystemClock);
        servers.push(folder.start(name, clock, &[("roles", roles)]).await);
    }
    let is_served = |table: &Table| serves_all(table, "b");
    let seen = routes(&servers[0]).wait_for(PATIENCE, is_served).await;
    let seen = seen.expect("b serves all ranges");
    let manager = seen.manager().map(|key| &*key.record.owner.name);
    assert_eq!(manager, Some("c"));

    let front = servers[0].listening().table.unwrap();
    create_table(front).await;
    assert_eq!(put_row(front, r#"{"N":7}"#).await, 204);
    assert!(read_row(front).await.contains(r#""N":7"#));
    for server in &servers[1..] {
        let listening = server.listening();
        assert_eq!((listening.table, listening.queue), (None, None));
    }
    for server in servers {
        server.stop().await;
    }
}

/// Whether a server serves all ranges.
fn serves_all(table: &Table, name: &str) -> bool {
    let ranges = table.ranges();
    !ranges.is_empty() && ranges.values().all(|key| key.record.is_served_by(name))
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_of_two_servers_are_merged() {
    let folder = Folder::new();
    let clock = || Arc::new(SystemClock);
    let first = folder.start("first", clock(), &[]).await;
    let of_first = routes(&first);
    let served = of_first.wait_for(PATIENCE, |table| serves_all(table, "first"));
    served.await.expect("the first server serves all");
    let second = folder.start("second", clock(), &[]).await;
    let front = second.listening().table.unwrap();
    create_table(front).await;
    assert_eq!(put_row(front, r#"{"N":7}"#).await, 204);

    let cluster = first.status().cluster().expect("the store is open");
    let manager = first.membership().and_then(|it| it.manager());
    let manager = manager.expect("the first server is the manager");
    // Before the rows of all tables (docs/format/keys.md).
    let rows = [b"\x20devstoreaccount1".as_slice(), &[0; 9], b"a\0"].concat();
    let range = RangeId(of_first.current().ranges().keys().next().unwrap().0);
    let split = cluster.split(range, Some(rows.into())).await.unwrap();
    manager.move_range(split.right, "second").await.unwrap();
    cluster.merge(split.left, split.right).await.unwrap();
    assert!(read_row(front).await.contains(r#""N":7"#));
    let merged = of_first.wait_for(PATIENCE, |table| table.ranges().len() == 1);
    assert!(merged.await.is_some());
    for server in [second, first] {
        server.stop().await;
    }
}
