//! The pages over a real socket: every document is read into its type of `partita_wire::admin` and written again
//! without a difference, and every field is described in the document for users.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets"
)]

use std::time::SystemTime;

use partita_rt::net::{MachineNetwork, Network as _};
use partita_rt::{ManualClock, ShiftedClock, Tasks};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use partita_wire::admin::{
    ActionDone, CheckpointResult, ErrorDocument, Job, JobList, MergeResult, Ranges, ServerState,
    SnapshotCreated, SnapshotDetails, SnapshotList, SplitResult, Status,
};

use super::*;
use crate::Environment;
use crate::config::tests::from_flags as settings;
use crate::metrics::Metrics;
use crate::serve::Server;
use crate::status::Listening;

/// A running server with these flags and a free admin port; returns it with the address of that port.
async fn started(flags: &[(&str, &str)]) -> (Server, std::net::SocketAddr) {
    let mut settings = settings(flags);
    settings.admin.port = Some(0);
    let server = Server::start(settings).await.unwrap();
    let address = server.listening().admin.unwrap();
    (server, address)
}

/// A server on a data directory and a machine whose clock is ahead by this much.
async fn started_ahead(
    directory: &std::path::Path,
    by: Duration,
) -> (Server, std::net::SocketAddr) {
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

const IN_MEMORY: [(&str, &str); 2] = [("in-memory", "true"), ("table-port", "0")];

/// Requests a page; returns status and body.
pub(super) async fn ask(address: std::net::SocketAddr, line: &str) -> (u16, String) {
    send(address, line, "Host: localhost\r\n", "").await
}

/// An action below `/admin/v1`, with the header it needs; returns status and document.
async fn act(address: std::net::SocketAddr, path: &str, body: &str) -> (u16, serde_json::Value) {
    let line = format!("POST /admin/v1/{path}");
    let headers = "Host: localhost\r\nX-Partita-Admin: 1\r\n";
    let (status, body) = send(address, &line, headers, body).await;
    (status, serde_json::from_str(&body).unwrap())
}

async fn send(
    address: std::net::SocketAddr,
    line: &str,
    headers: &str,
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}

/// A server whose data is still being opened.
async fn starting() -> (std::net::SocketAddr, Tasks) {
    let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
    let address = listener.address().unwrap();
    let tasks = Tasks::new();
    let clock = Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH));
    let status = ServerStatus::new(
        Arc::new(settings(&[])),
        Arc::new(Metrics::default()),
        Listening {
            table: address,
            admin: Some(address),
        },
        clock,
        tasks.shutdown(),
    );
    tasks.spawn(
        "admin port",
        serve(listener, Arc::new(status), tasks.clone()),
    );
    (address, tasks)
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
        format!("http://{}", server.listening().table)
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
    let (_, metrics) = ask(address, "GET /metrics").await;
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

#[tokio::test]
async fn health_fails_with_a_closed_store_but_not_during_a_stop() {
    let (server, address) = started(&IN_MEMORY).await;
    server.close_store().await;
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

/// More clients connect than the port has places for. They send nothing, stop within a head or a body, or keep their
/// connections after an answer.
#[tokio::test]
async fn a_probe_is_answered_whatever_other_clients_do() {
    let (server, address) = started(&IN_MEMORY).await;
    let requests: [&[u8]; 4] = [
        b"",
        b"GET /heal",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /admin/v1/ranges/1/flush HTTP/1.1\r\nHost: localhost\r\nX-Partita-Admin: 1\r\n\
          Content-Length: 2\r\n\r\n{",
    ];
    let mut others = Vec::new();
    for request in requests {
        for _ in 0..2 * CONNECTIONS_MAX {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request).await.unwrap();
            others.push(stream);
        }
        let probe = tokio::time::timeout(Duration::from_secs(3), ask(address, "GET /healthz"));
        let answer = probe.await.expect("the probe is answered in time");
        assert_eq!(answer, (200, "ok\n".to_owned()));
    }
    let (status, document) = act(address, "ranges/1/flush", "{}").await;
    assert_eq!(status, 200, "{document}");
    server.stop().await;
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_and_probes_are_not() {
    let (server, address) = started(&IN_MEMORY).await;
    let (watch, none) = (Watch::new(PATIENCE), Semaphore::new(0));
    let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
    let busy = listener.address().unwrap();
    let serving = async {
        for _ in 0..2 {
            let (stream, _) = listener.accept().await.unwrap();
            connection(stream, watch.watch(), server.status(), &none).await;
        }
    };
    let asking = async {
        let (status, text) = ask(busy, "GET /admin/v1/status").await;
        assert!(status == 503 && text.contains("\"Busy\""), "{text}");
        assert_eq!(ask(busy, "GET /healthz").await.0, 200);
    };
    tokio::join!(serving, asking);
    assert_eq!(ask(address, "GET /admin/v1/status").await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_named_with_its_flag() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = async |flags: &[(&str, &str)]| {
        Server::start(settings(flags))
            .await
            .unwrap_err()
            .to_string()
    };
    let table = refused(&[
        ("in-memory", "true"),
        ("table-port", &port),
        ("admin-port", "0"),
    ])
    .await;
    assert_eq!(
        table,
        format!("cannot listen on 127.0.0.1:{port}; --table-port chooses another port")
    );
    let admin = refused(&[
        ("in-memory", "true"),
        ("table-port", "0"),
        ("admin-port", &port),
    ])
    .await;
    assert_eq!(
        admin,
        format!("cannot listen on 127.0.0.1:{port}; --admin-port chooses another port")
    );
}

/// A server with an admin port and the table People of devstoreaccount1.
pub(super) struct Heated {
    pub(super) server: Server,
    pub(super) admin: std::net::SocketAddr,
}

impl Heated {
    /// Starts on a data directory, or in memory, and creates the table People unless it exists.
    pub(super) async fn start(directory: Option<&std::path::Path>) -> Self {
        let (server, admin) = match directory.and_then(std::path::Path::to_str) {
            Some(path) => started(&[("location", path), ("table-port", "0")]).await,
            None => started(&IN_MEMORY).await,
        };
        let (account, table) = Self::names();
        let service = &server.status().open().unwrap().service;
        // The error is ignored: at the second start, the table exists already.
        let _ = service.create_table(&account, &table).await;
        Self { server, admin }
    }

    fn names() -> (partita_model::AccountName, partita_model::TableName) {
        let account = partita_model::AccountName::new("devstoreaccount1").unwrap();
        (account, partita_model::TableName::new("People").unwrap())
    }

    /// Counts `times` inserts into a partition, without executing them.
    pub(super) async fn insert(&self, partition: &str, times: usize) {
        let status = self.server.status();
        let (account, table) = Self::names();
        let service = &status.open().unwrap().service;
        let key = service.partition_start(&account, &table, partition);
        let key = key.await.unwrap();
        let route = status.cluster().unwrap().map().route(&key);
        for _ in 0..times {
            let done = partita_range::RequestStats {
                rows: 1,
                bytes_in: 10,
                ..Default::default()
            };
            route.range.note(&key, partita_heat::Access::Insert, done);
        }
    }

    /// A page as JSON, with its status.
    pub(super) async fn get(&self, path: &str) -> (u16, serde_json::Value) {
        let (status, body) = ask(self.admin, &format!("GET {path}")).await;
        (status, serde_json::from_str(&body).unwrap())
    }
}

/// Ranges are listed with the names of tables and keys, split at a named key, and merged again; errors name the wrong
/// parameter.
#[tokio::test]
async fn ranges_are_shown_and_changed() {
    let (server, address) = started(&IN_MEMORY).await;
    let ranges = async || {
        let (status, body) = ask(address, "GET /admin/v1/ranges").await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    let first = ranges().await;
    assert_eq!(first["ranges"][0]["id"], 1);
    assert_eq!(first["ranges"][0]["start"], serde_json::Value::Null);
    assert_eq!(first["ranges"][0]["lineage"], 0);
    documented::<Ranges>(&first);

    let service = &server.status().open().unwrap().service;
    let account = partita_model::AccountName::new("devstoreaccount1").unwrap();
    let name = partita_model::TableName::new("People").unwrap();
    service.create_table(&account, &name).await.unwrap();

    for (headers, code) in [
        ("Host: localhost:1\r\n", "HeaderMissing"),
        (
            "Host: evil.example\r\nX-Partita-Admin: 1\r\n",
            "ForeignHost",
        ),
    ] {
        let (status, body) = send(address, "POST /admin/v1/ranges/1/split", headers, "").await;
        assert!(status == 403 && body.contains(code), "{body}");
    }
    for page in ["hot", "ranges", "status", "snapshots"] {
        let path = format!("GET /admin/v1/{page}");
        let (status, body) = send(address, &path, "Host: evil.example\r\n", "").await;
        assert!(status == 403 && body.contains("ForeignHost"), "{body}");
    }
    let (status, body) = act(address, "ranges/1/split", "").await;
    assert_eq!(
        (status, &body["error"]["code"]),
        (409, &"NoSplitKey".into())
    );
    let at = r#"{"account":"devstoreaccount1","table":"people","partition_key":"m"}"#;
    let (status, split) = act(address, "ranges/1/split", at).await;
    assert_eq!(
        (status, &split["left"], &split["right"]),
        (200, &2.into(), &3.into())
    );
    assert_eq!(split["at"]["table"], "People");
    documented::<SplitResult>(&split);
    let two = ranges().await;
    assert_eq!(two["ranges"][1]["start"]["partition_key"], "m");
    assert_eq!(two["ranges"][0]["end"], two["ranges"][1]["start"]);
    documented::<Ranges>(&two);

    for (path, status, code) in [
        ("1/merge", 404, "NoSuchRange"),
        ("3/merge", 409, "NoNeighbour"),
        ("x/split", 404, "NoSuchRange"),
        ("2/paint", 404, "NoSuchAction"),
    ] {
        let (answered, body) = act(address, &format!("ranges/{path}"), "").await;
        assert_eq!(
            (answered, &body["error"]["code"]),
            (status, &code.into()),
            "{path}"
        );
        documented::<ErrorDocument>(&body);
    }
    assert_eq!(act(address, "ranges/2/split", "{").await.0, 400);
    assert_eq!(
        act(address, "ranges/2/split", r#"{"table":"people"}"#)
            .await
            .0,
        400
    );
    for action in ["flush", "compact", "collect", "freeze"] {
        let (status, body) = act(
            address,
            &format!("ranges/2/{action}"),
            r#"{"milliseconds":1}"#,
        )
        .await;
        assert_eq!((status, &body["done"]), (200, &true.into()), "{action}");
        documented::<ActionDone>(&body);
    }
    let (status, kept) = act(address, "ranges/2/checkpoint", r#"{"seconds":5}"#).await;
    assert_eq!((status, &kept["seconds"]), (200, &5.into()), "{kept}");
    documented::<CheckpointResult>(&kept);
    for body in [
        r#"{"seconds":0}"#,
        r#"{"seconds":86401}"#,
        r#"{"seconds":-1}"#,
    ] {
        assert_eq!(
            act(address, "ranges/2/checkpoint", body).await.0,
            400,
            "{body}"
        );
    }
    let (status, merged) = act(address, "ranges/3/merge", r#"{"with":2}"#).await;
    assert_eq!((status, &merged["into"]), (200, &4.into()));
    documented::<MergeResult>(&merged);
    assert_eq!(ranges().await["ranges"].as_array().unwrap().len(), 1);
    assert_eq!(ask(address, "GET /admin/v1/ranges/4/split").await.0, 405);
    server.stop().await;
}

async fn started_with_place(place: &str) -> (Server, std::net::SocketAddr) {
    let [memory, port] = IN_MEMORY;
    started(&[memory, port, ("backup-place", place)]).await
}

/// A job's document once it has ended.
async fn ended_job(address: std::net::SocketAddr, id: u64) -> serde_json::Value {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let (_, body) = ask(address, &format!("GET /admin/v1/jobs/{id}")).await;
        let job: serde_json::Value = serde_json::from_str(&body).unwrap();
        if job["state"] != "running" {
            return job;
        }
        assert!(tokio::time::Instant::now() < deadline, "{job}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn snapshots_and_jobs_are_shown_as_documented() {
    let places = tempfile::tempdir().unwrap();
    let place = places.path().to_str().unwrap();
    let (server, address) = started_with_place(place).await;
    let (account, name) = Heated::names();
    let service = &server.status().open().unwrap().service;
    service.create_table(&account, &name).await.unwrap();

    let (status, created) = act(address, "snapshots/nightly/create", "").await;
    assert_eq!(status, 200, "{created}");
    documented::<SnapshotCreated>(&created);
    let (_, refused) = act(address, "snapshots/nightly/create", "").await;
    assert_eq!(refused["error"]["code"], "SnapshotExists");
    let page = async |path: &str| {
        let (_, body) = ask(address, &format!("GET {path}")).await;
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    documented::<SnapshotList>(&page("/admin/v1/snapshots").await);
    let details = page("/admin/v1/snapshots/nightly").await;
    documented::<SnapshotDetails>(&details);
    assert_eq!(details["tables"][0]["table"], "People");

    let wishes = [
        ("restore", r#"{"table":"people","as":"again"}"#.to_owned()),
        ("backup", format!(r#"{{"to":"{place}/backup"}}"#)),
        ("unpack", format!(r#"{{"to":"{place}/unpacked"}}"#)),
    ];
    for ((action, body), id) in wishes.into_iter().zip(1..) {
        let (status, job) = act(address, &format!("snapshots/nightly/{action}"), &body).await;
        assert_eq!((status, &job["id"]), (202, &id.into()), "{job}");
        documented::<Job>(&job);
        let job = ended_job(address, id).await;
        assert_eq!(job["state"], "done", "{job}");
        documented::<Job>(&job);
    }
    let jobs = page("/admin/v1/jobs").await;
    assert_eq!(jobs["jobs"][0]["kind"], "unpack");
    documented::<JobList>(&jobs);
    let (_, deleted) = act(address, "snapshots/nightly/delete", "").await;
    documented::<ActionDone>(&deleted);
    server.stop().await;
}

/// A backup succeeds although the snapshot that it was made from cannot be deleted yet: a reader still uses it.
#[tokio::test]
async fn a_backup_succeeds_although_its_snapshot_cannot_be_deleted_yet() {
    let places = tempfile::tempdir().unwrap();
    let place = places.path().to_str().unwrap();
    let (server, address) = started_with_place(place).await;
    let snapshots = &server.status().open().unwrap().snapshots;
    let name: partita_snapshot::SnapshotName = "for-it".parse().unwrap();
    let now = partita_model::DateTime::parse("2026-11-21T03:00:00Z").unwrap();
    snapshots.create(name.clone(), now).await.unwrap();
    let reader = snapshots.read(&name).await.unwrap();
    let wish = serde_json::json!({ "to": format!("{place}/backup"), "temporary": true });
    let (status, job) = act(address, "snapshots/for-it/backup", &wish.to_string()).await;
    assert_eq!(status, 202, "{job}");
    let job = ended_job(address, 1).await;
    documented::<Job>(&job);
    assert_eq!(job["state"], "done", "{job}");
    let warning = job["result"]["warning"].as_str().unwrap();
    assert!(warning.contains("for-it is being read"), "{warning}");
    drop(reader);
    snapshots.maintain().await;
    let gone = snapshots.record(&name).await;
    assert!(
        matches!(
            gone,
            Err(partita_snapshot::SnapshotError::NoSuchSnapshot(_))
        ),
        "{gone:?}"
    );
    server.stop().await;
}

/// Checks that a document is read into its type and written again without a difference, and that the page for users
/// describes every field.
pub(super) fn documented<T: serde::Serialize + serde::de::DeserializeOwned>(
    document: &serde_json::Value,
) {
    let typed: T = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), *document);
    fields_are_documented(document);
}

fn fields_are_documented(value: &serde_json::Value) {
    let page = include_str!("../../../../docs/admin-api.md");
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let forms = ["`{}`", ".{}`", "`{}[]`", ".{}[]`", "`{}."]
                    .map(|form| form.replace("{}", name));
                let is_there = forms.iter().any(|form| page.contains(form));
                assert!(is_there, "docs/admin-api.md lacks the field {name}");
                fields_are_documented(value);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(fields_are_documented),
        _ => {}
    }
}
