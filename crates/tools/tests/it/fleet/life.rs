//! The life of a job: failures, dead steps, stopping, resuming, lost messages.

use super::memory_queue::{LateQueue, MemoryQueue};
use super::{access, assert_exact, copy_to, fleet_table, spec, started_job, worker};
use crate::tables::{assert_same, rows, started, table};
use partita_client::now;
use partita_tools::fleet::{
    Ended, FleetError, JobKind, JobState, StepQueue as _, resume, status, stop, verify,
};
use partita_tools::scan::Bounds;

#[tokio::test]
async fn a_step_that_fails_too_often_is_dead_until_the_job_is_resumed() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(50)).await;
    let target = client.table_client("target");
    let mut spec = spec(&source, copy_to(&target));
    spec.tries = 3;
    let (job, queue) = (started_job(&client, spec).await, MemoryQueue::default());
    let ended = worker(&client, queue.clone(), &job, 1).run().await.unwrap();
    assert_eq!(ended, Ended::Job(JobState::Failed));
    let table = fleet_table(&client);
    let shown = status(&table, &job.id, now()).await.unwrap();
    assert_eq!((shown.open, shown.done, shown.dead), (0, 0, 1));
    assert!(
        shown.errors[0].1.contains("TableNotFound"),
        "{:?}",
        shown.errors
    );

    target.create().await.unwrap();
    resume(&table, &job.id).await.unwrap();
    assert_exact(&client, queue, &job, 50).await;
    assert_same(&source, &target, 50).await;
    let shown = status(&table, &job.id, now()).await.unwrap();
    assert_eq!((shown.totals.rows, shown.open, shown.dead), (50, 0, 0));
    let error = resume(&table, &job.id).await.unwrap_err();
    assert!(matches!(error, FleetError::State { .. }), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_stopped_job_continues_where_it_was() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(300)).await;
    let (table, queue) = (fleet_table(&client), MemoryQueue::default());
    let job = started_job(&client, spec(&source, JobKind::Count)).await;
    stop(&table, &job.id).await.unwrap();
    let ended = worker(&client, queue.clone(), &job, 2).run().await.unwrap();
    assert_eq!(ended, Ended::Job(JobState::Stopped));
    resume(&table, &job.id).await.unwrap();
    // A worker that is asked to stop begins no step.
    let half = worker(&client, queue.clone(), &job, 1);
    half.stop();
    assert_eq!(half.run().await.unwrap(), Ended::Stopped);
    // All messages may be lost.
    queue.send("unknown").await.unwrap();
    queue.clear();
    assert_exact(&client, queue, &job, 300).await;
    assert!(stop(&table, &job.id).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn a_kept_step_that_was_not_begun_is_not_tried() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(300)).await;
    let mut spec = spec(&source, JobKind::Count);
    spec.tries = 1;
    let (job, queue) = (started_job(&client, spec).await, MemoryQueue::default());
    let stopped = worker(&client, queue.clone(), &job, 1);
    // The worker is asked to stop while it executes a step, and leaves the follow-up step that it would have kept.
    let table = fleet_table(&client);
    let stop = async {
        while status(&table, &job.id, now()).await.unwrap().done == 0 {}
        stopped.stop();
    };
    let (ended, ()) = tokio::join!(stopped.run(), stop);
    assert_eq!(ended.unwrap(), Ended::Stopped);
    assert_exact(&client, queue, &job, 300).await;
    server.stop().await;
}

#[tokio::test]
async fn follow_up_steps_are_sent_before_their_step_is_removed() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(100)).await;
    let job = started_job(&client, spec(&source, JobKind::Count)).await;
    let queue = LateQueue::default();
    assert_exact(&client, queue.clone(), &job, 100).await;
    // Only the first step is sent to an empty queue. Else an idle worker would send the follow-up steps again.
    assert_eq!(queue.sent_to_empty(), 1);
    server.stop().await;
}

#[tokio::test]
async fn bounds_and_filters_select_the_rows() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(200)).await;
    let mut spec = spec(&source, JobKind::Count);
    spec.source.filter = Some("N ge 100 or N lt 50".to_owned());
    spec.source.bounds = Bounds::of_prefix("ha");
    let job = started_job(&client, spec.clone()).await;
    assert_exact(&client, MemoryQueue::default(), &job, 75).await;
    // Nothing to read: the job ends without a step.
    spec.source.bounds = Bounds::of_prefix("nothing");
    let job = started_job(&client, spec).await;
    assert_exact(&client, MemoryQueue::default(), &job, 0).await;
    server.stop().await;
}

#[tokio::test]
async fn a_changed_table_does_not_verify() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(30)).await;
    let job = started_job(&client, spec(&source, JobKind::Count)).await;
    assert_exact(&client, MemoryQueue::default(), &job, 30).await;
    let added = partita_client::Entity::new("new", "row");
    source.create_entity(&added).await.unwrap();
    let job = fleet_table(&client).job(&job.id).await.unwrap();
    let found = verify(&access(&client), &job).await.unwrap();
    assert!(!found.is_equal());
    assert_eq!((found.job.rows, found.source.rows), (30, 31));
    server.stop().await;
}

#[tokio::test]
async fn a_worker_needs_the_second_account_of_the_job() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(1)).await;
    let mut kind = copy_to(&client.table_client("target"));
    if let JobKind::Copy { to, .. } = &mut kind {
        to.endpoint = "https://other.table.core.windows.net".to_owned();
    }
    let job = started_job(&client, spec(&source, kind)).await;
    let error = worker(&client, MemoryQueue::default(), &job, 1).run().await;
    assert!(matches!(error, Err(FleetError::OtherAccount { .. })));
    server.stop().await;
}
