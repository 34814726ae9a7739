//! Tests migrations that are killed after one of their requests, or that lose one answer, for each request. After the
//! next run, the tables must equal those of an uninterrupted run.

use crate::lossy::lossy;
use crate::migrations::everything;
use crate::server;
use crate::tables::table;
use partita_client::{
    AttemptEvent, ClientOptions, EdmType, Entity, RetryObserver, RetryPolicy, TableServiceClient,
    UpdateMode,
};
use partita_migrate::{
    LeaseOptions, MigrateError, Migration, Migrations, Migrator, MigratorOptions, PropertyChange,
    Transform,
};
use partita_server::Server;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Ends the task of a client by a panic, after the answer to a given request.
#[derive(Debug, Default)]
struct Killer {
    /// The number of requests so far.
    made: AtomicUsize,
    /// The number of the request, from 1; 0 to never end the task.
    killed_at: usize,
}

impl RetryObserver for Killer {
    fn attempt(&self, _: &AttemptEvent<'_>) {
        let made = self.made.fetch_add(1, Ordering::SeqCst) + 1;
        if made == self.killed_at {
            // `resume_unwind` prints no message, unlike `panic!`.
            std::panic::resume_unwind(Box::new("killed"));
        }
    }
}

/// Migrations with every kind of step.
fn migrations() -> Migrations {
    let named = |name: &str| name.to_owned();
    let rename = |from: &str, to: &str| PropertyChange::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let insert = (0..130).map(|n| {
        let mut row = Entity::new(format!("p{}", n % 2), format!("{n}"));
        row.insert("N", n);
        row
    });
    let mut other = Entity::new("p1", "1");
    other.insert("N", "changed");
    Migrations::new([
        Migration::new(1, "begin")
            .create_table("empty")
            .create_and_insert("numbers", insert)
            .upsert("numbers", [other], UpdateMode::Merge)
            .down(|down| down.delete_table("numbers").delete_table("empty")),
        Migration::new(2, "tables")
            .rename_table("people", "staff")
            .copy_table("staff", "backup")
            .down(|down| down.delete_table("backup").rename_table("staff", "people")),
        Migration::new(3, "rows")
            .transform(Transform {
                changes: vec![
                    // Changes that would give another result if they ran twice.
                    rename("N", "M"),
                    rename("When", "N"),
                    PropertyChange::Retype {
                        name: named("M"),
                        edm: EdmType::Int64,
                    },
                    PropertyChange::Add {
                        name: named("When"),
                        value: "then".into(),
                    },
                ],
                ..Transform::of("staff")
            })
            .transform(Transform {
                to: Some(named("keyed")),
                row_key: "{M:8}".parse().ok(),
                changes: vec![PropertyChange::Drop { name: named("Any") }],
                ..Transform::of("staff")
            })
            .down(|down| {
                down.delete_table("keyed").transform(Transform {
                    changes: vec![
                        PropertyChange::Drop {
                            name: named("When"),
                        },
                        rename("N", "When"),
                        rename("M", "N"),
                        PropertyChange::Retype {
                            name: named("N"),
                            edm: EdmType::Int32,
                        },
                    ],
                    ..Transform::of("staff")
                })
            }),
        Migration::new(4, "end")
            .delete_row("numbers", "p1", "1")
            .delete_partition("numbers", "p0")
            .clear("backup")
            .delete_table("empty")
            .down(|down| down.create_table("empty")),
    ])
    .unwrap()
}

/// Starts a server. Returns it with its connection string.
async fn world() -> (Server, String) {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    (server, text)
}

/// Resets the server to the start of a run: the table `people`, and for [`Way::Down`] also the applied migrations.
async fn begin(text: &str, way: Way) {
    let service = TableServiceClient::from_connection_string(text).unwrap();
    for name in everything(&service).await.keys() {
        service.delete_table(name).await.unwrap();
    }
    let people = (0..12).map(|n| {
        let mut row = Entity::new(format!("p{}", n % 2), format!("{n:02}"));
        row.insert("N", n)
            .insert("When", "once")
            .insert("Any", n % 3 == 0);
        row
    });
    let people: Vec<_> = people.collect();
    table(&service, "people", &people).await;
    if way == Way::Down {
        let migrator = Migrator::new(service, MigratorOptions::default());
        run(&migrator, Way::Up).await.unwrap();
    }
}

/// Options with pages of a few rows, a record after each page, and a lease that has expired when the next run starts.
/// `Up` uses only the public protocol; `Down` also uses Partita's rename.
fn options(way: Way, jobs: usize) -> MigratorOptions {
    MigratorOptions {
        public_only: way == Way::Up,
        page_rows: 5,
        pages_between_records: 1,
        jobs,
        lease: LeaseOptions {
            duration: Duration::ZERO,
            renew_after: Duration::MAX,
            ..LeaseOptions::default()
        },
        ..MigratorOptions::default()
    }
}

/// The direction of a run: apply all migrations, or revert them all.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Up,
    Down,
}

async fn run(migrator: &Migrator, way: Way) -> Result<(), MigrateError> {
    match way {
        Way::Up => migrator.up(&migrations(), None).await.map(drop),
        Way::Down => migrator.down(&migrations(), Some(0)).await.map(drop),
    }
}

/// Runs the migrations, and kills the run after `killed_at` requests; 0 does not kill it. Returns the number of
/// requests, or an error if the run was killed.
async fn run_killed(text: &str, way: Way, killed_at: usize, jobs: usize) -> Result<usize, ()> {
    let killer = Arc::new(Killer {
        killed_at,
        ..Killer::default()
    });
    let client = ClientOptions {
        observer: Some(Arc::<Killer>::clone(&killer)),
        ..ClientOptions::default()
    };
    let service = TableServiceClient::from_connection_string_with(text, client).unwrap();
    let options = options(way, jobs);
    let mut task = JoinSet::new();
    task.spawn(async move { run(&Migrator::new(service, options), way).await });
    match task.join_next().await.unwrap() {
        Ok(done) => {
            done.unwrap();
            Ok(killer.made.load(Ordering::SeqCst))
        }
        Err(error) => {
            assert!(error.is_panic() && killer.made.load(Ordering::SeqCst) >= killed_at);
            assert!(killed_at > 0, "unexpected panic");
            Err(())
        }
    }
}

type Tables = BTreeMap<String, Vec<String>>;

async fn tables(text: &str) -> Tables {
    let service = TableServiceClient::from_connection_string(text).unwrap();
    everything(&service).await
}

/// The tables after an uninterrupted run, and its number of requests.
async fn undisturbed(way: Way) -> (Tables, usize) {
    let (server, text) = world().await;
    begin(&text, way).await;
    let requests = run_killed(&text, way, 0, 1).await.unwrap();
    let tables = tables(&text).await;
    server.stop().await;
    (tables, requests)
}

async fn killed_at_every_request(way: Way) {
    let (expected, requests) = undisturbed(way).await;
    assert!(requests > 30, "{requests} requests");
    let (server, text) = world().await;
    for killed_at in 1..=requests {
        begin(&text, way).await;
        // In the last round, the run is killed after its last request, which releases the lease.
        let killed = run_killed(&text, way, killed_at, 1).await;
        assert!(killed.is_err(), "the run is killed at request {killed_at}");
        run_killed(&text, way, 0, 1).await.unwrap();
        let now = tables(&text).await;
        assert_eq!(
            now, expected,
            "killed after {killed_at} of {requests} requests"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn up_killed_after_every_request() {
    killed_at_every_request(Way::Up).await;
    let (tables, _) = undisturbed(Way::Up).await;
    let names: Vec<_> = tables.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["backup", "keyed", "numbers", "staff", "versionData"]
    );
    assert_eq!(
        (
            tables["staff"].len(),
            tables["keyed"].len(),
            tables["numbers"].len()
        ),
        (12, 12, 64)
    );
}

#[tokio::test]
async fn down_killed_after_every_request() {
    killed_at_every_request(Way::Down).await;
    // The reverted tables equal the tables before the migrations.
    let (server, text) = world().await;
    begin(&text, Way::Up).await;
    let before = tables(&text).await;
    server.stop().await;
    let (mut end, _) = undisturbed(Way::Down).await;
    end.remove("versionData");
    assert_eq!(end, before);
}

/// Runs are killed after some requests, each later than the one before, until a run completes. Writes run in parallel.
#[tokio::test]
async fn repeatedly_killed_runs_complete() {
    let (expected, _) = undisturbed(Way::Up).await;
    let (server, text) = world().await;
    for step in [13, 17, 29] {
        begin(&text, Way::Up).await;
        let mut kills = 0;
        while run_killed(&text, Way::Up, step + kills, 3).await.is_err() {
            kills += 1;
            assert!(kills < 200, "a run completes");
        }
        assert!(kills > 2, "killed {kills} times");
        assert_eq!(tables(&text).await, expected, "killed {kills} times");
    }
    server.stop().await;
}

/// For each request, a run loses the answer to it. The client does not retry, so the run usually fails, and the next
/// run continues.
#[tokio::test]
async fn runs_survive_each_lost_answer() {
    let (expected, requests) = undisturbed(Way::Up).await;
    let (server, text) = world().await;
    let address = server.listening().table.unwrap();
    for lost_at in 0..requests {
        begin(&text, Way::Up).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let through = text.replace(
            &address.to_string(),
            &listener.local_addr().unwrap().to_string(),
        );
        let lost = Arc::new(AtomicUsize::new(0));
        let mut proxy = JoinSet::new();
        let is_lost = move |answer| answer == lost_at;
        proxy.spawn(lossy(address, listener, is_lost, Arc::clone(&lost)));
        let client = ClientOptions {
            retry: RetryPolicy::None,
            ..ClientOptions::default()
        };
        let service = TableServiceClient::from_connection_string_with(&through, client).unwrap();
        let outcome = run(&Migrator::new(service, options(Way::Up, 1)), Way::Up).await;
        assert_eq!(lost.load(Ordering::SeqCst), 1, "the proxy loses one answer");
        // The run may succeed: a failed release of the lease is not an error, and some lost writes are recognised as
        // done. A further run must then change nothing, which is checked for every tenth request.
        if outcome.is_err() || lost_at % 10 == 0 {
            run_killed(&text, Way::Up, 0, 1).await.unwrap();
        }
        let now = tables(&text).await;
        assert_eq!(now, expected, "answer {lost_at} of {requests}: {outcome:?}");
    }
    server.stop().await;
}
