//! Health, readiness and status.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use partita_rt::net::{MachineNetwork, Network as _};
use partita_rt::{ManualClock, ShiftedClock, Tasks};
use partita_wire::admin::{
    ClusterInfo, ClusterServer, LoadSummary, RangeChange, ServerState, Status,
};

use super::*;
use crate::Environment;
use crate::metrics::Metrics;
use crate::status::{Listening, ServerStatus};

/// A server on a data directory and a machine whose clock is ahead by this much.
async fn started_ahead(directory: &Path, by: Duration) -> (Server, SocketAddr) {
    let location = directory.to_str().unwrap();
    let mut settings = settings(&[("location", location), ("table-port", "0")]);
    settings.admin.port = Some(0);
    let environment = Environment {
        clock: Arc::new(ShiftedClock::ahead(by)),
        ..Environment::default()
    };
    let server = Server::start_in(environment, settings).await.unwrap();
    let address = server.listening().admin.unwrap();
    (server, address)
}

/// A server whose data is still being opened.
async fn starting() -> (SocketAddr, Tasks) {
    let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
    let address = listener.address().unwrap();
    let tasks = Tasks::new();
    let clock = Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH));
    let status = ServerStatus::new(
        Arc::new(settings(&[])),
        Arc::new(Metrics::default()),
        Listening {
            table: Some(address),
            queue: None,
            admin: Some(address),
        },
        clock,
        tasks.shutdown(),
    );
    tasks.spawn(
        "admin port",
        super::super::serve(listener, Arc::new(status), tasks.clone()),
    );
    (address, tasks)
}

/// A status with this state, load and member of a cluster.
fn status_of(name: &str, requests_per_second: f64) -> Status {
    let golden = include_str!("../../../../wire/src/admin/golden/status.json");
    let mut status: Status = serde_json::from_str(golden).unwrap();
    let server = |name: &str| ClusterServer {
        name: name.to_owned(),
        ..ClusterServer::default()
    };
    status.cluster = Some(ClusterInfo {
        server: name.to_owned(),
        lease_left_seconds: Some(1.5),
        servers: ["a", "b", "c"].map(server).to_vec(),
        ..ClusterInfo::default()
    });
    status.load = Some(LoadSummary {
        requests_per_second,
        ..LoadSummary::default()
    });
    status
}

/// Each server says its own health. One that does not answer has none, and is named.
#[test]
fn a_status_has_the_health_of_all_servers_that_answer() {
    let mut own = status_of("b", 2.0);
    let mut other = status_of("a", 1.0);
    let change = RangeChange::Split {
        range: 3,
        at: "k".to_owned(),
        left: 4,
        right: 5,
    };
    other.state = ServerState::Degraded;
    if let Some(ranges) = &mut other.ranges {
        ranges.change = Some(change.clone());
    }
    if let Some(ranges) = &mut own.ranges {
        ranges.change = None;
    }
    super::super::status::add_servers(&mut own, &[("a".to_owned(), other)], vec!["c".to_owned()]);
    let cluster = own.cluster.unwrap();
    let health = |server: &ClusterServer| {
        let health = server.health.as_ref()?;
        let lease = health.lease_left_seconds.unwrap();
        Some((
            health.state.clone(),
            health.requests_per_second.unwrap(),
            lease,
        ))
    };
    let all: Vec<_> = cluster.servers.iter().map(health).collect();
    let expected = [
        Some((ServerState::Degraded, 1.0, 1.5)),
        Some((ServerState::Ready, 2.0, 1.5)),
        None,
    ];
    assert_eq!(all, expected);
    assert_eq!(cluster.silent, Some(vec!["c".to_owned()]));
    assert_eq!(cluster.change, Some(change));
}

#[tokio::test]
async fn a_server_that_starts_is_alive_and_not_ready() {
    let (address, tasks) = starting().await;
    assert_eq!(ask(address, "GET /healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(
        ask(address, "GET /readyz").await,
        (503, "starting: the data is being opened\n".to_owned())
    );
    let (status, body) = ask(address, "GET /admin/v1/status").await;
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &body["state"], &body["engine"]),
        (200, &"starting".into(), &serde_json::Value::Null)
    );
    assert_eq!(body["started_at"], "1970-01-01T00:00:00Z");
    let (status, body) = ask(address, "GET /metrics").await;
    assert!(
        status == 200 && body.contains("\npartita_ready 0\n"),
        "{body}"
    );
    assert!(tasks.drain(Duration::from_secs(5)).await.is_empty());
}

#[tokio::test]
async fn other_pages_and_verbs_are_refused() {
    let (address, tasks) = starting().await;
    let (status, body) = ask(address, "GET /metric").await;
    assert!(status == 404 && body.contains("/metrics"), "{body}");
    assert_eq!(ask(address, "POST /metrics").await.0, 405);
    assert_eq!(ask(address, "HEAD /healthz").await, (200, String::new()));
    assert_eq!(ask(address, "GET /healthz?verbose=1").await.0, 200);
    assert!(tasks.drain(Duration::from_secs(5)).await.is_empty());
}

#[tokio::test]
async fn a_running_server_shows_its_status_without_keys() {
    let accounts = "abc:c2VjcmV0a2V5";
    let flags = [
        ("in-memory", "true"),
        ("table-port", "0"),
        ("admin-port", "1"),
        ("accounts", accounts),
    ];
    let (server, address) = started(&flags).await;
    let (code, answer) = ask(address, "GET /readyz").await;
    assert_eq!((code, &*answer), (200, "ready\n"));
    let (_, text) = ask(address, "GET /admin/v1/status").await;
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&status["state"], &status["accounts"]),
        (&"ready".into(), &serde_json::json!(["abc"]))
    );
    assert_eq!(
        status["listening"]["table"],
        format!("http://{}", server.listening().table.unwrap())
    );
    assert_eq!(
        (&status["store"]["kind"], &status["engine"]["health"]),
        (&"memory".into(), &"healthy".into())
    );
    assert_eq!(
        (&status["ranges"]["count"], &status["ranges"]["change"]),
        (&1.into(), &serde_json::Value::Null)
    );
    documented::<Status>(&status);
    assert_eq!(status["engine"].get("written"), None, "data in memory");
    assert_eq!(status["engine"].get("stored"), None, "data in memory");
    let (_, metrics) = ask(address, "GET /metrics").await;
    assert!(!metrics.contains("partita_storage_"), "data in memory");
    for secret in ["c2VjcmV0a2V5", "secretkey"] {
        assert!(!text.contains(secret), "{text}");
        assert!(!metrics.contains(secret), "{metrics}");
    }
    assert!(
        metrics.contains("\npartita_ready 1\n") && metrics.contains("partita_commit_batches_total"),
        "{metrics}"
    );
    assert_eq!(server.stop().await, Vec::<&str>::new());
    assert!(TcpStream::connect(address).await.is_err());
}

/// The bytes of the files in a folder and the folders in it whose names have this suffix.
fn bytes_of_files(folder: &Path, suffix: &str) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    let bytes = entries.map(|entry| {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        match entry.file_name().to_str() {
            _ if metadata.is_dir() => bytes_of_files(&entry.path(), suffix),
            Some(name) if name.ends_with(suffix) => metadata.len(),
            _ => 0,
        }
    });
    bytes.sum()
}

#[tokio::test]
async fn written_and_stored_bytes_are_those_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let heated = Heated::start(Some(directory.path())).await;
    let flushed = act(heated.admin, "ranges/1/flush", "").await;
    assert_eq!(flushed.0, 200, "{flushed:?}");
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    // The files that existed at the start are counted in the background.
    let engine = loop {
        let (_, status) = heated.get("/admin/v1/status").await;
        if status["engine"].get("stored").is_some() {
            documented::<Status>(&status);
            break status["engine"].clone();
        }
        assert!(std::time::Instant::now() < deadline, "{status}");
    };
    let files = bytes_of_files(&directory.path().join("store"), ".sst");
    let segments = bytes_of_files(&directory.path().join("log"), ".log");
    let log_bytes = engine["written"]["log_bytes"].as_u64().unwrap();
    let number = |bytes: &serde_json::Value| bytes.as_f64().unwrap();
    let factor = |written: u64, bytes: f64| (written as f64 / bytes * 10.0).round() / 10.0;
    let row_bytes = number(&engine["bytes"]) - 64.0 * number(&engine["rows"]);
    assert!(log_bytes as f64 >= row_bytes && row_bytes > 0.0, "{engine}");
    let written = serde_json::json!({
        "row_bytes": row_bytes as u64,
        "log_bytes": log_bytes,
        "flush_bytes": files,
        "compaction_bytes": 0,
        "amplification": factor(log_bytes + files, row_bytes),
    });
    assert_eq!(engine["written"], written);
    let stored = serde_json::json!({
        "live_bytes": files,
        "replaced_bytes": 0,
        "log_bytes": segments,
        "amplification": factor(files + segments, files as f64),
    });
    assert_eq!(engine["stored"], stored);
    let (_, metrics) = ask(heated.admin, "GET /metrics").await;
    for line in [
        format!("partita_storage_written_bytes_total{{by=\"log\"}} {log_bytes}\n"),
        format!("partita_storage_written_bytes_total{{by=\"flush\"}} {files}\n"),
        format!("partita_storage_bytes{{use=\"live\"}} {files}\n"),
        format!("partita_storage_bytes{{use=\"log\"}} {segments}\n"),
    ] {
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    heated.server.stop().await;
}

#[tokio::test]
async fn health_fails_with_a_closed_store_but_not_during_a_stop() {
    let (server, address) = started(&IN_MEMORY).await;
    server.opening.close().await;
    let dead = (503, "the store is closed\n".to_owned());
    assert_eq!(ask(address, "GET /healthz").await, dead);
    assert_eq!(
        ask(address, "GET /readyz").await,
        (503, "unavailable: the store is closed\n".to_owned())
    );
    let status = Arc::clone(server.status());
    server.stop().await;
    assert_eq!(status.state().0, ServerState::Stopping);
    assert!(!status.is_dead());
}

/// The clock is set back between two starts. The server is ready at once, new Timestamps are later than the stored
/// ones, and `/readyz` and the status state how far the clock is behind.
#[tokio::test]
async fn a_clock_set_back_between_two_starts_is_reported_and_delays_nothing() {
    let account = partita_model::AccountName::new("devstoreaccount1").unwrap();
    let create = async |server: &Server, name: &str| {
        let name = partita_model::TableName::new(name).unwrap();
        let service = &server.status().open().unwrap().service;
        service.create_table(&account, &name).await.unwrap();
        service.table(&account, &name).await.unwrap().created
    };
    for ahead_seconds in [60, 3600, 74 * 365 * 86_400] {
        let directory = tempfile::tempdir().unwrap();
        let ahead = Duration::from_secs(ahead_seconds);
        let (server, address) = started_ahead(directory.path(), ahead).await;
        let before = create(&server, "Before").await;
        let (_, metrics) = ask(address, "GET /metrics").await;
        assert!(
            metrics.contains("\npartita_wall_clock_lag_seconds 0\n"),
            "{metrics}"
        );
        assert_eq!(server.stop().await, Vec::<&str>::new());

        let (server, address) = started_ahead(directory.path(), Duration::ZERO).await;
        assert!(create(&server, "After").await > before);
        let lag = server.status().wall_clock_lag();
        assert!(lag > ahead - Duration::from_secs(60), "{lag:?}");
        let (code, answer) = ask(address, "GET /readyz").await;
        assert!(
            code == 200 && answer.starts_with("ready: the wall clock is "),
            "{code} {answer}"
        );
        let (_, text) = ask(address, "GET /admin/v1/status").await;
        let status: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            answer,
            format!("ready: {}\n", status["notes"][0].as_str().unwrap())
        );
        assert!(status["engine"]["wall_clock_lag_seconds"].as_f64() > Some(1.0));
        documented::<Status>(&status);
        assert_eq!(server.stop().await, Vec::<&str>::new());
    }
}
