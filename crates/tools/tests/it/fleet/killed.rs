//! Workers that are killed.

use super::killer::{Killer, mortal_client};
use super::memory_queue::{MemoryQueue, MortalQueue};
use super::{assert_exact, connection_string, copy_to, fleet_table, spec, started_job, worker};
use crate::tables::{assert_same, rows, started, table};
use partita_client::{TableServiceClient, now};
use partita_server::Server;
use partita_tools::fleet::{FleetError, Job, JobKind, resume, status};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Starts a worker that dies after a number of events. Returns whether it died.
async fn run_mortal(
    server: &Server,
    queue: &MemoryQueue,
    job: &Job,
    loops: usize,
    events: usize,
) -> bool {
    let killer = Killer::after(events);
    let text = connection_string(server);
    let (client, _proxy) = mortal_client(&text, server.listening().table.unwrap(), &killer).await;
    let queue = MortalQueue {
        queue: queue.clone(),
        killer: killer.clone(),
    };
    let ended = worker(&client, queue, job, loops).run().await;
    if let Err(error) = &ended {
        let is_killed = matches!(error, FleetError::Table(_) | FleetError::Queue(_));
        assert!(is_killed && killer.has_killed(), "{error:?}");
    }
    ended.is_err()
}

/// A worker is killed between any two requests, and also between a request and its answer. The next worker ends the
/// job, and the result is exact.
async fn killed_at_every_point(
    server: &Server,
    client: &TableServiceClient,
    kind: &JobKind,
    count: u64,
    after: impl AsyncFn(),
) {
    let source = client.table_client("source");
    for events in 0..10_000 {
        let queue = MemoryQueue::default();
        let job = started_job(client, spec(&source, kind.clone())).await;
        let is_killed = run_mortal(server, &queue, &job, 1, events).await;
        assert_exact(client, queue, &job, count).await;
        after().await;
        if !is_killed {
            assert!(events > 50, "the worker had only {events} events");
            return;
        }
    }
    panic!("each worker was killed");
}

#[tokio::test]
async fn a_killed_count_is_exact() {
    let (server, client) = started().await;
    table(&client, "source", &rows(40)).await;
    killed_at_every_point(&server, &client, &JobKind::Count, 40, async || {}).await;
    server.stop().await;
}

#[tokio::test]
async fn a_killed_copy_is_exact() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(24)).await;
    let target = client.create_table("target").await.unwrap();
    killed_at_every_point(&server, &client, &copy_to(&target), 24, async || {
        assert_same(&source, &target, 24).await;
        for row in rows(24) {
            let keys = (row.partition_key(), row.row_key());
            let any = partita_client::IfMatch::Any;
            target.delete_entity(keys.0, keys.1, &any).await.unwrap();
        }
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn a_kept_step_whose_worker_died_counts_as_tried() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(60)).await;
    let mut spec = spec(&source, JobKind::Count);
    spec.tries = 1;
    let table = fleet_table(&client);
    // A worker that is alone keeps all steps but the first.
    let mut is_seen = false;
    for events in 0..10_000 {
        let (job, queue) = (
            started_job(&client, spec.clone()).await,
            MemoryQueue::default(),
        );
        if !run_mortal(&server, &queue, &job, 1, events).await {
            break;
        }
        worker(&client, queue.clone(), &job, 1).run().await.unwrap();
        let shown = status(&table, &job.id, now()).await.unwrap();
        for (_, error) in &shown.errors {
            assert_eq!(error, "1 of its workers died");
        }
        is_seen |= shown.done > 0 && shown.dead == 1;
        // A step that is opened again has all its tries.
        if shown.dead > 0 {
            resume(&table, &job.id).await.unwrap();
            assert_exact(&client, queue, &job, 60).await;
        }
    }
    assert!(is_seen, "no worker died while it executed a kept step");
    server.stop().await;
}

/// Four workers with three parallel steps each; each is killed after a random number of events and replaced, until the
/// job has ended. Every seed gives other points. Returns how many were killed.
pub(super) async fn run_mortals(
    server: &Arc<Server>,
    queue: &MemoryQueue,
    job: &Job,
    seed: u64,
) -> usize {
    let mut workers = JoinSet::new();
    for worker in 0..4 {
        let (server, queue, job) = (Arc::clone(server), queue.clone(), job.clone());
        workers.spawn(async move {
            let mut random = fastrand::Rng::with_seed(seed * 4 + worker);
            let mut killed = 0;
            while run_mortal(&server, &queue, &job, 3, random.usize(20..400)).await {
                killed += 1;
            }
            killed
        });
    }
    workers.join_all().await.into_iter().sum()
}

/// Runs a job by [`run_mortals`], and checks that its result is exact.
pub(super) async fn fleet_of_mortals(
    server: &Arc<Server>,
    client: &TableServiceClient,
    job: &Job,
    seed: u64,
    rows: usize,
) {
    let queue = MemoryQueue::default();
    let killed = run_mortals(server, &queue, job, seed).await;
    assert!(killed > 3, "only {killed} workers were killed");
    assert!(queue.length_max() < 200, "{} messages", queue.length_max());
    assert_exact(client, queue, job, rows as u64).await;
}

#[tokio::test]
async fn a_fleet_of_killed_workers_is_exact() {
    let (server, client) = started().await;
    let server = Arc::new(server);
    let source = table(&client, "source", &rows(1500)).await;
    for seed in 0..3 {
        let job = started_job(&client, spec(&source, JobKind::Count)).await;
        fleet_of_mortals(&server, &client, &job, seed, 1500).await;
        let target = client.create_table("target").await.unwrap();
        let job = started_job(&client, spec(&source, copy_to(&target))).await;
        fleet_of_mortals(&server, &client, &job, 10 + seed, 1500).await;
        assert_same(&source, &target, 1500).await;
        target.delete().await.unwrap();
    }
    let server = Arc::into_inner(server).unwrap();
    server.stop().await;
}
