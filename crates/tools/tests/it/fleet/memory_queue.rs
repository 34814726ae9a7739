//! A queue in memory, without clocks: when nothing is visible several times in a row, hidden messages become visible.
//! So a message of a running worker may be received again, which must not harm.

use super::killer::Killer;
use partita_tools::fleet::{Delivery, QueueError, StepQueue};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// After this number of receives in a row that find nothing visible, hidden messages become visible.
const EMPTY_RECEIVES: usize = 20;

#[derive(Clone, Default)]
pub(super) struct MemoryQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    messages: Vec<Message>,
    born: u64,
    empty_receives: usize,
    length_max: usize,
    /// Whether hidden messages stay hidden.
    is_patient: bool,
}

struct Message {
    id: u64,
    step: String,
    receipt: u64,
    is_hidden: bool,
    deliveries: u32,
}

impl MemoryQueue {
    /// A queue whose hidden messages stay hidden, so that no step is executed twice, however slow the machine is.
    pub(super) fn patient() -> Self {
        let queue = Self::default();
        queue.0.lock().unwrap().is_patient = true;
        queue
    }

    /// Loses all messages.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap().messages.clear();
    }

    /// Whether a message has been received and is not deleted.
    pub(super) fn has_hidden(&self) -> bool {
        let state = self.0.lock().unwrap();
        state.messages.iter().any(|message| message.is_hidden)
    }

    /// The largest number of messages that the queue had.
    pub(super) fn length_max(&self) -> usize {
        self.0.lock().unwrap().length_max
    }
}

impl Message {
    fn delivery(&self) -> Delivery {
        Delivery {
            step: self.step.clone(),
            id: self.id.to_string(),
            receipt: self.receipt.to_string(),
            deliveries: self.deliveries,
        }
    }
}

impl State {
    fn put(&mut self, step: &str, is_hidden: bool) -> Delivery {
        self.born += 1;
        let message = Message {
            id: self.born,
            step: step.to_owned(),
            receipt: self.born,
            is_hidden,
            deliveries: 0,
        };
        let delivery = message.delivery();
        self.messages.push(message);
        self.length_max = self.length_max.max(self.messages.len());
        delivery
    }

    fn receive(&mut self) -> Option<Delivery> {
        let Some(at) = self.messages.iter().position(|it| !it.is_hidden) else {
            self.empty_receives += 1;
            if self.empty_receives >= EMPTY_RECEIVES && !self.is_patient {
                self.empty_receives = 0;
                self.messages.iter_mut().for_each(|it| it.is_hidden = false);
            }
            return None;
        };
        self.empty_receives = 0;
        self.born += 1;
        // A received message is behind all others when it is visible again.
        let mut message = self.messages.remove(at);
        (message.is_hidden, message.receipt) = (true, self.born);
        message.deliveries += 1;
        let delivery = message.delivery();
        self.messages.push(message);
        Some(delivery)
    }

    fn position(&self, delivery: &Delivery) -> Option<usize> {
        let is_it = |it: &Message| it.receipt.to_string() == delivery.receipt;
        self.messages.iter().position(is_it)
    }
}

impl StepQueue for MemoryQueue {
    async fn send(&self, step: &str) -> Result<(), QueueError> {
        self.0.lock().unwrap().put(step, false);
        Ok(())
    }

    async fn keep(&self, step: &str, _: Duration) -> Result<Delivery, QueueError> {
        Ok(self.0.lock().unwrap().put(step, true))
    }

    async fn receive(&self, _: Duration, _: Duration) -> Result<Option<Delivery>, QueueError> {
        let received = self.0.lock().unwrap().receive();
        if received.is_none() {
            tokio::task::yield_now().await;
        }
        Ok(received)
    }

    async fn hide(&self, delivery: &mut Delivery, hidden_for: Duration) -> Result<(), QueueError> {
        let mut state = self.0.lock().unwrap();
        if let Some(at) = state.position(delivery) {
            state.messages[at].is_hidden = !hidden_for.is_zero();
        }
        Ok(())
    }

    async fn remove(&self, delivery: Delivery) -> Result<(), QueueError> {
        let mut state = self.0.lock().unwrap();
        if let Some(at) = state.position(&delivery) {
            state.messages.remove(at);
        }
        Ok(())
    }

    async fn messages(&self) -> Result<u64, QueueError> {
        Ok(self.0.lock().unwrap().messages.len() as u64)
    }

    async fn delete(&self) -> Result<(), QueueError> {
        self.clear();
        Ok(())
    }
}

/// A queue whose messages arrive late: other requests of the same worker overtake them.
#[derive(Clone, Default)]
pub(super) struct LateQueue {
    queue: MemoryQueue,
    sent_to_empty: Arc<AtomicUsize>,
}

impl LateQueue {
    /// How many messages were sent while the queue had none.
    pub(super) fn sent_to_empty(&self) -> usize {
        self.sent_to_empty.load(Ordering::Relaxed)
    }
}

impl StepQueue for LateQueue {
    async fn send(&self, step: &str) -> Result<(), QueueError> {
        tokio::task::yield_now().await;
        if self.queue.messages().await? == 0 {
            self.sent_to_empty.fetch_add(1, Ordering::Relaxed);
        }
        self.queue.send(step).await
    }

    async fn keep(&self, step: &str, hidden_for: Duration) -> Result<Delivery, QueueError> {
        tokio::task::yield_now().await;
        if self.queue.messages().await? == 0 {
            self.sent_to_empty.fetch_add(1, Ordering::Relaxed);
        }
        self.queue.keep(step, hidden_for).await
    }

    async fn receive(
        &self,
        hidden_for: Duration,
        wait: Duration,
    ) -> Result<Option<Delivery>, QueueError> {
        self.queue.receive(hidden_for, wait).await
    }

    async fn hide(&self, delivery: &mut Delivery, hidden_for: Duration) -> Result<(), QueueError> {
        self.queue.hide(delivery, hidden_for).await
    }

    async fn remove(&self, delivery: Delivery) -> Result<(), QueueError> {
        self.queue.remove(delivery).await
    }

    async fn messages(&self) -> Result<u64, QueueError> {
        self.queue.messages().await
    }

    async fn delete(&self) -> Result<(), QueueError> {
        self.queue.delete().await
    }
}

/// A queue of a worker that is killed before or after one of its requests.
#[derive(Clone)]
pub(super) struct MortalQueue<Q> {
    pub(super) queue: Q,
    pub(super) killer: Killer,
}

impl<Q: StepQueue> MortalQueue<Q> {
    async fn request<T>(
        &self,
        request: impl Future<Output = Result<T, QueueError>> + Send,
    ) -> Result<T, QueueError> {
        let killed = || QueueError::from("killed");
        self.killer.event().then_some(()).ok_or_else(killed)?;
        let answer = request.await?;
        self.killer.event().then_some(answer).ok_or_else(killed)
    }
}

impl<Q: StepQueue> StepQueue for MortalQueue<Q> {
    async fn send(&self, step: &str) -> Result<(), QueueError> {
        self.request(self.queue.send(step)).await
    }

    async fn keep(&self, step: &str, hidden_for: Duration) -> Result<Delivery, QueueError> {
        self.request(self.queue.keep(step, hidden_for)).await
    }

    async fn receive(
        &self,
        hidden_for: Duration,
        wait: Duration,
    ) -> Result<Option<Delivery>, QueueError> {
        self.request(self.queue.receive(hidden_for, wait)).await
    }

    async fn hide(&self, delivery: &mut Delivery, hidden_for: Duration) -> Result<(), QueueError> {
        self.request(self.queue.hide(delivery, hidden_for)).await
    }

    async fn remove(&self, delivery: Delivery) -> Result<(), QueueError> {
        self.request(self.queue.remove(delivery)).await
    }

    async fn messages(&self) -> Result<u64, QueueError> {
        self.request(self.queue.messages()).await
    }

    async fn delete(&self) -> Result<(), QueueError> {
        self.request(self.queue.delete()).await
    }
}
