//! A server that has the catalog, and another that has the messages, in virtual time.

use super::{SECOND, account, create, name, texts, to_ref};
use crate::{
    Error, Message, PutMessage, Queue, Service, ServiceSettings, TargetSettings, UpdateMessage,
};
use bytes::Bytes;
use partita_model::{KeyKind, Metadata, QueueSpace};
use partita_rt::{Clock, Tasks, TokioClock};
use partita_service::testing::{FarFault, TestRange, TestServers};
use partita_service::{BusyReason, RowWalk};
use std::cell::Cell;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

struct Servers {
    network: Arc<TestServers>,
    home: Arc<Service>,
    other: Arc<Service>,
    tasks: Tasks,
}

impl Servers {
    async fn new() -> Self {
        let (network, tasks) = (TestServers::new(), Tasks::new());
        let ranges = TestRange::cut_at(&[KeyKind::ENTITY.start()]);
        let [home, other] = [0, 1].map(|number| {
            let clock: Arc<dyn Clock> = Arc::new(TokioClock::with_rate(1.0));
            let storage = network.start(&[&ranges[number]], clock);
            let settings = ServiceSettings {
                drop_grace: 5 * SECOND,
            };
            let targets = TargetSettings::default();
            Arc::new(Service::new(storage, settings, targets, tasks.clone()))
        });
        create(&home, "work", Metadata::default()).await.unwrap();
        Self {
            network,
            home,
            other,
            tasks,
        }
    }

    async fn queue(&self) -> Arc<Queue> {
        self.other.queue(&account(), &name("work")).await.unwrap()
    }

    async fn put(&self, text: &str, time_to_live: Option<Duration>) -> Message {
        let message = PutMessage {
            text: Bytes::copy_from_slice(text.as_bytes()),
            visibility_timeout: Duration::ZERO,
            time_to_live,
        };
        let put = self.other.put_message(&*self.queue().await, message).await;
        put.unwrap()
    }

    async fn clear(&self) {
        self.home
            .clear_messages(&account(), &name("work"))
            .await
            .unwrap();
    }

    /// The number of stored rows of a queue, with its header.
    async fn rows(&self, space: &QueueSpace) -> usize {
        let (start, end) = (space.prefix().clone(), space.end());
        let mut walk = RowWalk::new(self.home.storage(), start, end);
        let mut rows = 0;
        while let Some(some) = walk.next().await.unwrap() {
            rows += some.len();
        }
        rows
    }
}

#[tokio::test(start_paused = true)]
async fn each_operation_on_messages_works_where_the_catalog_is_far() {
    let servers = Servers::new().await;
    let (queue, other) = (servers.queue().await, &servers.other);
    assert!(other.storage().is_here(&Service::place_of_messages(&queue)));
    servers.put("a", None).await;
    servers.put("b", None).await;
    let got = other.get_messages(&queue, 1, SECOND).await.unwrap();
    assert_eq!(texts(&got), ["a"]);
    let update = UpdateMessage {
        message: to_ref(&got[0]),
        visibility_timeout: Duration::ZERO,
        text: Some("c".into()),
    };
    let updated = other.update_message(&queue, update).await.unwrap();
    other
        .delete_message(&queue, to_ref(&updated))
        .await
        .unwrap();
    let peeked = other.peek_messages(&queue, 9, |_| Ok(())).await.unwrap();
    assert_eq!(texts(&peeked), ["b"]);
    sleep(SECOND).await;
    let (reports, all) = other.queue_reports(9).await.unwrap();
    assert_eq!((all, reports[0].messages), (1, 1));
    assert!(reports[0].next_message_age.unwrap() >= SECOND);
    // The server with the messages reports them, and no other.
    let (reports, all) = servers.home.queue_reports(9).await.unwrap();
    assert_eq!((reports.len(), all), (0, 0));
    // The properties of the queue, from both.
    for service in [&servers.home, other] {
        assert_eq!(service.message_count(&queue).await.unwrap(), 1);
        let page = service.list_queues(&account(), "w", None, 9).await.unwrap();
        assert_eq!(page.queues[0].name, "work");
        assert!(service.properties().get(&account()).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn operations_on_queues_are_executed_only_where_the_catalog_is() {
    let servers = Servers::new().await;
    let (other, account, work) = (&servers.other, account(), name("work"));
    assert!(!other.storage().is_here(&Service::place_of_catalog()));
    let created = create(other, "new", Metadata::default()).await;
    let properties = other.properties().change(&account, |_| ()).await;
    for refused in [
        created.map(|_| ()),
        other.delete_queue(&account, &work).await,
        other.clear_messages(&account, &work).await,
        other.set_access_policies(&account, &work, &[]).await,
        other
            .set_queue_metadata(&account, &work, Metadata::default())
            .await,
        properties.map_err(Error::from),
    ] {
        let is_in_transit =
            matches!(&refused, Err(Error::Busy(busy)) if busy.reason == BusyReason::RangeInTransit);
        assert!(is_in_transit, "{refused:?}");
    }
}

/// Makes a change while requests look up the queue: all that begin after it find it changed.
async fn check(
    change: impl AsyncFnOnce(&Service),
    is_new: impl Fn(Option<&Queue>, &Queue) -> bool,
) {
    let servers = Servers::new().await;
    let (old, is_seen) = (servers.queue().await, Cell::new(false));
    let end = Instant::now() + 4 * SECOND;
    let asking = async |service: &Service| {
        while Instant::now() < end {
            let must_be_new = is_seen.get();
            let found = service.queue(&account(), &name("work")).await.ok();
            let is_new = is_new(found.as_deref(), &old);
            assert!(is_new || !must_be_new, "{found:?}");
            is_seen.set(is_seen.get() || is_new);
            sleep(Duration::from_millis(7)).await;
        }
    };
    let changing = async {
        sleep(Duration::from_millis(1500)).await;
        change(&servers.home).await;
        is_seen.set(true);
    };
    tokio::join!(asking(&servers.other), asking(&servers.home), changing);
}

#[tokio::test(start_paused = true)]
async fn a_request_after_a_change_never_finds_the_old_queue() {
    let clear = async |home: &Service| {
        home.clear_messages(&account(), &name("work"))
            .await
            .unwrap()
    };
    check(clear, |found, old| {
        found.is_some_and(|found| found.id != old.id)
    })
    .await;
    let delete = async |home: &Service| home.delete_queue(&account(), &name("work")).await.unwrap();
    check(delete, |found, _| found.is_none()).await;
    let set = async |home: &Service| {
        let mut metadata = Metadata::default();
        metadata.add("color", "red").unwrap();
        home.set_queue_metadata(&account(), &name("work"), metadata)
            .await
            .unwrap();
    };
    check(set, |found, _| {
        found.is_some_and(|found| found.metadata.bytes() > 0)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_receive_learns_of_a_clear_on_another_server() {
    let servers = Servers::new().await;
    let queue = servers.queue().await;
    let hour = 3600 * SECOND;
    let get = servers
        .other
        .get_messages_within(&queue, 1, hour, hour, pending());
    let change = async {
        sleep(10 * SECOND).await;
        servers.clear().await;
        let put_at = Instant::now();
        servers.put("a", None).await;
        put_at
    };
    let (got, put_at) = tokio::join!(get, change);
    assert_eq!(texts(&got.unwrap()), ["a"]);
    assert!(put_at.elapsed() <= SECOND, "{:?}", put_at.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_receive_waits_while_the_catalog_is_in_transit() {
    let servers = Servers::new().await;
    let queue = servers.queue().await;
    let get = servers
        .other
        .get_messages_within(&queue, 1, SECOND, 60 * SECOND, pending());
    let outage = async {
        sleep(5 * SECOND).await;
        servers.network.set_fault(Some(FarFault::Unreachable));
        sleep(5 * SECOND).await;
        servers.network.set_fault(None);
        servers.put("a", None).await;
    };
    let (got, ()) = tokio::join!(get, outage);
    assert_eq!(texts(&got.unwrap()), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_receive_learns_of_a_deletion_on_another_server() {
    let servers = Servers::new().await;
    let (queue, hour) = (servers.queue().await, 3600 * SECOND);
    let get = servers
        .other
        .get_messages_within(&queue, 1, hour, hour, pending());
    let delete = async {
        sleep(10 * SECOND).await;
        servers
            .home
            .delete_queue(&account(), &name("work"))
            .await
            .unwrap();
        Instant::now()
    };
    let (got, deleted_at) = tokio::join!(get, delete);
    assert!(matches!(got, Err(Error::QueueNotFound)), "{got:?}");
    assert!(deleted_at.elapsed() <= SECOND, "{:?}", deleted_at.elapsed());
}

#[tokio::test(start_paused = true)]
async fn rows_of_cleared_and_expired_messages_are_removed_on_another_server() {
    let servers = Servers::new().await;
    servers.home.start(&servers.tasks);
    servers.other.start(&servers.tasks);
    let old = servers.queue().await;
    for _ in 0..300 {
        servers.put("a", None).await;
    }
    assert_eq!(servers.rows(&old.space).await, 301);
    servers.clear().await;
    let new = servers.queue().await;
    servers.put("stays", None).await;
    for _ in 0..20 {
        servers.put("expires", Some(30 * SECOND)).await;
    }
    sleep(150 * SECOND).await;
    assert_eq!(servers.rows(&old.space).await, 0);
    assert_eq!(servers.rows(&new.space).await, 2);
    assert_eq!(servers.home.message_count(&new).await.unwrap(), 1);
}
