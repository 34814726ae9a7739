//! A fleet with a queue of the Queue service.

use super::killer::{Killer, mortal_client};
use super::{assert_exact, connection_string, copy_to, fleet_table, spec, started_job, worker};
use crate::tables::{assert_same, rows, started, table};
use partita_client::QueueServiceClient;
use partita_tools::fleet::{JobKind, ServiceQueue, StepQueue as _, announce};
use std::time::Duration;

#[tokio::test]
async fn a_worker_continues_after_a_killed_one() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(200)).await;
    let target = client.create_table("target").await.unwrap();
    let text = connection_string(&server);
    let queues = QueueServiceClient::from_connection_string(&text).unwrap();
    let mut spec = spec(&source, copy_to(&target));
    spec.visibility_seconds = 1;
    let job = started_job(&client, spec).await;
    let queue = ServiceQueue(queues.queue_client(&job.queue_name()));

    let killer = Killer::after(60);
    let (mortal, _proxy) = mortal_client(&text, server.listening().table.unwrap(), &killer).await;
    let killed = worker(&mortal, queue.clone(), &job, 1).run().await;
    assert!(killed.is_err() && killer.has_killed());
    assert_exact(&client, queue.clone(), &job, 200).await;
    assert_same(&source, &target, 200).await;
    // The queue of an ended job is deleted.
    assert!(queue.0.get_properties().await.unwrap_err().is_not_found());
    server.stop().await;
}

#[tokio::test]
async fn the_first_steps_are_announced_once() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(20)).await;
    let text = connection_string(&server);
    let queues = QueueServiceClient::from_connection_string(&text).unwrap();
    let job = started_job(&client, spec(&source, JobKind::Count)).await;
    let queue = ServiceQueue(queues.queue_client(&job.queue_name()));
    announce(&fleet_table(&client), &queue, &job).await.unwrap();
    assert_eq!(queue.messages().await.unwrap(), 1);
    assert_exact(&client, queue, &job, 20).await;
    server.stop().await;
}

#[tokio::test]
async fn a_missing_queue_is_empty_and_is_created_by_a_message() {
    let (server, _) = started().await;
    let text = connection_string(&server);
    let queues = QueueServiceClient::from_connection_string(&text).unwrap();
    let queue = ServiceQueue(queues.queue_client("fleet"));
    let second = Duration::from_secs(1);
    assert_eq!(queue.messages().await.unwrap(), 0);
    assert_eq!(queue.receive(second, Duration::ZERO).await.unwrap(), None);
    queue.delete().await.unwrap();
    queue.send("a").await.unwrap();
    let mut delivery = queue
        .receive(second, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&*delivery.step, delivery.deliveries), ("a", 1));
    assert_eq!(queue.messages().await.unwrap(), 1);
    queue.hide(&mut delivery, Duration::ZERO).await.unwrap();
    let again = queue
        .receive(second, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(again.deliveries, 2);
    // The first receiver no longer has the message.
    queue.remove(delivery).await.unwrap();
    assert_eq!(queue.messages().await.unwrap(), 1);
    queue.remove(again).await.unwrap();
    assert_eq!(queue.messages().await.unwrap(), 0);
    server.stop().await;
}
