//! The service: the state shared by all operations on queues.

use crate::clock::QueueClock;
use crate::group::{OpenQueue, Reply, Request, Shared, WriteSize};
use crate::open_queues::OpenQueues;
use crate::{Error, Queue, TargetSettings};
use partita_model::{AccountName, DateTime, KeyKind, QueueId, QueueSpace};
use partita_rt::Tasks;
use partita_service::{Charged, Cost, Direction, Dropped, RecordMemo, ScopeNames, Storage};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Settings of the Queue service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSettings {
    /// How long after a queue's deletion an earlier write can still commit. Longer than any request.
    pub drop_grace: Duration,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            drop_grace: Duration::from_secs(90),
        }
    }
}

/// The Queue service of all accounts.
#[derive(Debug)]
pub struct Service {
    pub(crate) shared: Shared,
    targets: TargetSettings,
    open: OpenQueues,
    pub(crate) memo: RecordMemo<Queue>,
    /// The deleted queues, and the former contents of cleared queues.
    pub(crate) dropped: Dropped,
}

impl Service {
    /// The Queue service over `storage`. The `targets` have an effect only if the storage enforces targets. Requests
    /// are executed by tasks in `tasks`, which must end before the storage is closed.
    #[must_use]
    pub fn new(
        storage: Arc<Storage>,
        settings: ServiceSettings,
        targets: TargetSettings,
        tasks: Tasks,
    ) -> Self {
        let clock = Arc::new(QueueClock::new(Arc::clone(&storage.clock)));
        Self {
            shared: Shared {
                storage,
                clock,
                tasks,
            },
            targets,
            open: OpenQueues::default(),
            memo: RecordMemo::default(),
            dropped: Dropped::new(
                "queue",
                KeyKind::DROPPED_QUEUE,
                KeyKind::MESSAGE,
                settings.drop_grace,
            ),
        }
    }

    /// The storage.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.shared.storage
    }

    /// The time, which decides about visibility and expiry.
    pub(crate) fn now(&self) -> DateTime {
        self.shared.clock.now()
    }

    /// The queue in memory.
    pub(crate) fn open_queue(&self, queue: &Queue) -> Arc<OpenQueue> {
        self.open.get(&queue.space)
    }

    /// Lets the receives that wait at a cleared or deleted queue look at its name again.
    pub(crate) fn wake_receives(&self, account: &AccountName, id: u64) {
        let space = QueueSpace::new(account.as_str(), QueueId(id));
        if let Some(open) = self.open.find(&space) {
            open.wake_all();
        }
    }

    /// Charges a request to its targets, if any, and executes it in the next group of its queue.
    pub(crate) async fn execute<T>(
        &self,
        queue: &Queue,
        size: WriteSize,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> Result<T, Error> {
        self.charge_cost(queue, size.rows, size.bytes)?;
        self.execute_uncharged(queue, size, request).await
    }

    /// Like [`Self::execute`], for background work.
    pub(crate) async fn execute_uncharged<T>(
        &self,
        queue: &Queue,
        size: WriteSize,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> Result<T, Error> {
        let (reply, answered) = oneshot::channel();
        let open = self.open_queue(queue);
        open.push(&self.shared, request(reply), size);
        answered.await.unwrap_or(Err(Error::OutcomeUnknown))
    }

    /// Charges a request that reads messages.
    pub(crate) fn charge(&self, queue: &Queue, messages: usize) -> Result<(), Error> {
        self.charge_cost(queue, messages, 0)
    }

    fn charge_cost(&self, queue: &Queue, messages: usize, bytes: usize) -> Result<(), Error> {
        let prefix = queue.space.prefix();
        let cost = Cost {
            entities: messages as u64,
            bytes: bytes as u64,
        };
        let charged = || Charged {
            key: prefix,
            container: prefix,
            rates: self.targets.rates(),
        };
        let names = || ScopeNames {
            account: queue.account.clone(),
            container: queue.name.clone(),
            partition: String::new(),
        };
        let storage = self.storage();
        Ok(storage.charge(prefix, cost, Direction::In, charged, names)?)
    }
}
