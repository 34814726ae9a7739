//! Tests of the operations, on the engine in memory and with a manual clock.

mod catalog;
mod expiry;
mod failures;
mod messages;
mod random;
mod waiting;

use crate::{
    Message, MessageRef, PutMessage, Queue, Service, ServiceSettings, TargetSettings, UpdateMessage,
};
use bytes::Bytes;
use partita_cluster::{Epoch, PartitionMap, Served};
use partita_engine::memory::MemoryEngine;
use partita_engine::{Engine, KeyRange, ScanHint};
use partita_model::{AccountName, Metadata, QueueName};
use partita_range::{Bounds, Range, RangeId};
use partita_rt::{Clock, ManualClock, Tasks};
use partita_service::Storage;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);

fn account() -> AccountName {
    AccountName::new("account").unwrap()
}

fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

/// A service with the queue `work`.
struct Rig {
    service: Arc<Service>,
    clock: ManualClock,
    tasks: Tasks,
    engine: Arc<MemoryEngine>,
    queue: Arc<Queue>,
}

impl Rig {
    async fn new() -> Self {
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
        let (tasks, engine) = (Tasks::new(), Arc::new(MemoryEngine::new()));
        let service = service(&engine, &clock, &tasks);
        let queue = name("work");
        create(&service, "work", Metadata::default()).await.unwrap();
        let queue = service.queue(&account(), &queue).await.unwrap();
        Self {
            service,
            clock,
            tasks,
            engine,
            queue,
        }
    }

    /// Another service on the same rows, as after a restart.
    fn restart(&mut self) {
        self.service = service(&self.engine, &self.clock, &self.tasks);
    }

    async fn put(&self, text: &str) -> Message {
        self.put_with(text, Duration::ZERO, None).await
    }

    async fn put_with(&self, text: &str, hidden: Duration, ttl: Option<Duration>) -> Message {
        let message = PutMessage {
            text: Bytes::copy_from_slice(text.as_bytes()),
            visibility_timeout: hidden,
            time_to_live: ttl,
        };
        let put = self.service.put_message(&self.queue, message);
        put.await.unwrap()
    }

    async fn get(&self, count: usize) -> Vec<Message> {
        let get = self.service.get_messages(&self.queue, count, 30 * SECOND);
        get.await.unwrap()
    }

    async fn peek(&self, count: usize) -> Vec<Message> {
        let peek = self.service.peek_messages(&self.queue, count, |_| Ok(()));
        peek.await.unwrap()
    }

    async fn delete(&self, message: &Message) -> Result<(), crate::Error> {
        self.service
            .delete_message(&self.queue, to_ref(message))
            .await
    }

    async fn update(
        &self,
        message: &Message,
        hidden: Duration,
        text: Option<&str>,
    ) -> Result<Message, crate::Error> {
        let update = UpdateMessage {
            message: to_ref(message),
            visibility_timeout: hidden,
            text: text.map(|text| Bytes::copy_from_slice(text.as_bytes())),
        };
        self.service.update_message(&self.queue, update).await
    }

    async fn count(&self) -> u64 {
        self.service.message_count(&self.queue).await.unwrap()
    }

    /// The number of stored rows of the queue, with its header.
    async fn rows(&self) -> usize {
        let space = &self.queue.space;
        let keys = KeyRange::half_open(space.prefix().clone(), space.end());
        let mut scan = self.engine.scan(keys, ScanHint::walk()).await.unwrap();
        let rows = scan.next(usize::MAX, usize::MAX).await.unwrap();
        rows.len()
    }
}

async fn create(
    service: &Service,
    queue: &str,
    metadata: Metadata,
) -> Result<crate::Created, crate::Error> {
    service
        .create_queue(&account(), &name(queue), metadata)
        .await
}

fn service(engine: &Arc<MemoryEngine>, clock: &ManualClock, tasks: &Tasks) -> Arc<Service> {
    let all = Bounds {
        start: Bytes::new(),
        end: None,
    };
    let engine = Arc::clone(engine) as Arc<dyn Engine>;
    let served = Served {
        tenure: 0,
        epoch: Epoch(1),
        range: Arc::new(Range::new(RangeId(1), all, engine, Arc::default())),
    };
    let map = Arc::new(PartitionMap::new(vec![served]).unwrap());
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    let settings = ServiceSettings {
        drop_grace: 5 * SECOND,
    };
    Arc::new(Service::new(
        Arc::new(Storage::new(map, clock)),
        settings,
        TargetSettings::default(),
        tasks.clone(),
    ))
}

const fn to_ref(message: &Message) -> MessageRef {
    MessageRef {
        id: message.id,
        receipt: message.receipt,
    }
}

fn texts(messages: &[Message]) -> Vec<&str> {
    let text = |message| std::str::from_utf8(message).unwrap();
    messages.iter().map(|message| text(&message.text)).collect()
}
