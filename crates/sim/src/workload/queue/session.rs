//! A session on queues: one client that puts messages, receives messages of all sessions, and changes them.

use std::cell::RefMut;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};

use super::protocol::{self, QueueRequest};
use super::{Queues, now, queue_name};
use crate::client::Answer;
use crate::queue_model::{Label, Put, QueueModel, Update};
use crate::seed::Seed;
use crate::workload::Plant;

/// The number of receipts that a session keeps for changes, and of old ones that must be refused.
const RECEIPTS_MAX: usize = 64;

const SECOND: Duration = Duration::from_secs(1);

/// A message with a receipt.
#[derive(Clone, Debug)]
struct Held {
    queue: usize,
    label: Label,
    id: String,
    receipt: String,
}

/// How a session reaches the server, or the servers.
pub(crate) trait Asks {
    /// Sends a request that may take `wait` longer than others. `None`: it may have been executed, may still be, or never.
    ///
    /// # Errors
    /// A wrong answer.
    async fn ask(
        &mut self,
        request: &QueueRequest,
        wait: Duration,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<Option<Answer>>;
}

/// A client of the queues.
pub(crate) struct QueueSession<C> {
    number: u64,
    pub(crate) connection: C,
    pub(crate) random: fastrand::Rng,
    queues: Queues,
    /// The maximum number of characters of a message's text, without its label.
    text_max: usize,
    /// The share of puts among its operations, in percent.
    puts_percent: u32,
    /// The number of its messages and texts so far.
    texts: u64,
    /// Messages with a receipt that may be valid.
    held: Vec<Held>,
    /// Messages with a receipt that was used or not kept.
    old: Vec<Held>,
    plant: Option<Plant>,
    /// Messages received.
    pub(crate) messages: u64,
    /// Receipts that were refused as expected.
    pub(crate) refused: u64,
}

/// The name of a session's connection and stream of random numbers.
pub(crate) fn session_name(number: u64) -> String {
    format!("queue-session-{number}")
}

impl<C: Asks> QueueSession<C> {
    /// A session with this number, which no other session of the queues has.
    pub(crate) fn new(
        seed: Seed,
        text_max: usize,
        number: u64,
        queues: Queues,
        connection: C,
    ) -> Self {
        let mut random = seed.stream(&session_name(number));
        Self {
            number,
            connection,
            puts_percent: random.u32(10..50),
            random,
            queues,
            text_max,
            plant: None,
            texts: 0,
            held: Vec::new(),
            old: Vec::new(),
            messages: 0,
            refused: 0,
        }
    }

    /// The session, which causes this fault.
    pub(super) fn with_plant(mut self, plant: Option<Plant>) -> Self {
        self.plant = plant;
        self
    }

    /// Makes one operation.
    ///
    /// # Errors
    /// A wrong answer.
    pub(crate) async fn operation(&mut self) -> anyhow::Result<()> {
        let queue = self.random.usize(..self.queues.len());
        if self.random.u32(..100) < self.puts_percent {
            return self.put(queue).await;
        }
        match self.random.u32(..1_000) {
            0..350 => self.receive(queue).await,
            350..700 => self.change(false).await,
            700..800 => self.change(true).await,
            800..850 => self.use_old_receipt().await,
            850..930 => self.peek(queue).await,
            930..995 => self.count(queue).await,
            _ => self.clear(queue).await,
        }
    }

    async fn put(&mut self, queue: usize) -> anyhow::Result<()> {
        self.texts += 1;
        let label = (self.number, self.texts);
        let visibility_timeout = match self.random.u32(..10) {
            0 => SECOND * self.random.u32(1..20),
            _ => Duration::ZERO,
        };
        let time_to_live = match self.random.u32(..10) {
            0 => Some(visibility_timeout + SECOND * self.random.u32(1..30)),
            1..4 => Some(SECOND * 604_800),
            _ => None,
        };
        let put = Put {
            label,
            text: self.a_text(label),
            visibility_timeout,
            time_to_live,
        };
        let request = QueueRequest::put(&queue_name(queue), &put)?;
        self.model(queue).put_sent(&put, now());
        let Some(answer) = self.send(&request, Duration::ZERO).await? else {
            self.model(queue).put_lost(&put, now());
            return Ok(());
        };
        answer.expect(201)?;
        let [message] = &protocol::messages(&answer)?[..] else {
            bail!("a put without a message: {}", answer.text());
        };
        let receipt = message
            .receipt
            .as_deref()
            .context("a put without a receipt")?;
        self.model(queue)
            .put_done(&put, message.id.clone(), receipt, now());
        if let Some(Plant::LostMessage) = self.plant.take_if(|_| put.time_to_live.is_none()) {
            // The planted fault: deletes the message, but not in the model.
            let request = QueueRequest::delete(&queue_name(queue), &message.id, receipt);
            while self.send(&request, Duration::ZERO).await?.is_none() {}
        }
        if self.random.u32(..4) == 0 {
            self.hold(queue, label, &message.id, receipt);
        }
        Ok(())
    }

    async fn receive(&mut self, queue: usize) -> anyhow::Result<()> {
        let timeouts = [1, 1, 2, 5, 15, 30];
        let timeout = SECOND * timeouts[self.random.usize(..timeouts.len())];
        let count = match self.random.u32(..4) {
            0 => 1,
            1 => 32,
            _ => self.random.usize(1..=8),
        };
        let wait = match self.random.u32(..10) {
            0 => SECOND * self.random.u32(1..4),
            _ => Duration::ZERO,
        };
        let receive = self.model(queue).receive_sent(count, timeout, now());
        let request = QueueRequest::receive(&queue_name(queue), &receive, wait);
        let Some(answer) = self.send(&request, wait).await? else {
            self.model(queue).receive_lost(&receive, wait, now());
            return Ok(());
        };
        let found = protocol::found(&answer, count)?;
        let checked = self.model(queue).receive_done(&receive, &found, now());
        checked.map_err(|wrong| anyhow!(wrong))?;
        self.messages += found.len() as u64;
        for message in found {
            let receipt = message.receipt.unwrap_or_default();
            self.hold(queue, message.label, &message.id, &receipt);
        }
        Ok(())
    }

    /// Deletes or updates a message with a receipt that may be valid.
    async fn change(&mut self, is_update: bool) -> anyhow::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = self.held.swap_remove(self.random.usize(..self.held.len()));
        self.change_with(held, is_update).await
    }

    /// Deletes or updates a message with a receipt that is not valid any more, mostly.
    async fn use_old_receipt(&mut self) -> anyhow::Result<()> {
        if self.old.is_empty() {
            return Ok(());
        }
        let held = self.old.swap_remove(self.random.usize(..self.old.len()));
        let is_update = self.random.bool();
        self.change_with(held, is_update).await
    }

    async fn change_with(&mut self, held: Held, is_update: bool) -> anyhow::Result<()> {
        let (queue, label) = (held.queue, held.label);
        // The server refuses an update that hides a message until after its expiry.
        let is_update = is_update && !self.model(queue).expires(label);
        let update = is_update.then(|| Update {
            visibility_timeout: SECOND * self.random.u32(..10),
            text: self.random.bool().then(|| self.a_text(label)),
        });
        let name = queue_name(queue);
        let request = match &update {
            Some(update) => QueueRequest::update(&name, &held.id, &held.receipt, update)?,
            None => QueueRequest::delete(&name, &held.id, &held.receipt),
        };
        let sent = self
            .model(queue)
            .change_sent(label, &held.receipt, update, now());
        let change = sent.map_err(|wrong| anyhow!(wrong))?;
        let answer = self.send(&request, Duration::ZERO).await?;
        self.keep_old(held.clone());
        let Some(answer) = answer else {
            self.model(queue).change_lost(&change, now());
            return Ok(());
        };
        let checked = if answer.status == 204 {
            let receipt = answer.header("x-ms-popreceipt");
            let checked = self.model(queue).change_done(&change, receipt, now());
            if let Some(receipt) = receipt {
                self.hold(queue, label, &held.id, receipt);
            }
            checked
        } else {
            let code = answer.header("x-ms-error-code");
            let is_refused = answer.status == 404 && code == Some("MessageNotFound");
            ensure!(
                is_refused,
                "{request:?}: {} {}",
                answer.status,
                answer.text()
            );
            self.refused += 1;
            self.model(queue).change_refused(&change, now())
        };
        checked.map_err(|wrong| anyhow!(wrong))
    }

    async fn peek(&mut self, queue: usize) -> anyhow::Result<()> {
        let (count, sent) = (self.random.usize(1..=32), now());
        let request = QueueRequest::peek(&queue_name(queue), count);
        let Some(answer) = self.send(&request, Duration::ZERO).await? else {
            return Ok(());
        };
        let found = protocol::found(&answer, count)?;
        let checked = self.model(queue).check_peek(count, &found, sent, now());
        checked.map_err(|wrong| anyhow!(wrong))
    }

    async fn count(&mut self, queue: usize) -> anyhow::Result<()> {
        let (request, sent) = (QueueRequest::count(&queue_name(queue)), now());
        let Some(answer) = self.send(&request, Duration::ZERO).await? else {
            return Ok(());
        };
        answer.expect(200)?;
        let count = answer.header("x-ms-approximate-messages-count");
        let count = count.context("no number of messages")?.parse()?;
        let checked = self.model(queue).check_count(count, sent, now());
        checked.map_err(|wrong| anyhow!(wrong))
    }

    async fn clear(&mut self, queue: usize) -> anyhow::Result<()> {
        let clear = self.model(queue).clear_sent(now());
        let request = QueueRequest::clear(&queue_name(queue));
        let Some(answer) = self.send(&request, Duration::ZERO).await? else {
            self.model(queue).clear_lost(now());
            return Ok(());
        };
        answer.expect(204)?;
        self.model(queue).clear_done(clear, now());
        Ok(())
    }

    async fn send(
        &mut self,
        request: &QueueRequest,
        wait: Duration,
    ) -> anyhow::Result<Option<Answer>> {
        self.connection.ask(request, wait, &mut self.random).await
    }

    fn hold(&mut self, queue: usize, label: Label, id: &str, receipt: &str) {
        let held = Held {
            queue,
            label,
            id: id.to_owned(),
            receipt: receipt.to_owned(),
        };
        self.held.push(held);
        if self.held.len() > RECEIPTS_MAX {
            let old = self.held.swap_remove(self.random.usize(..RECEIPTS_MAX));
            self.keep_old(old);
        }
    }

    fn keep_old(&mut self, held: Held) {
        self.old.push(held);
        if self.old.len() > RECEIPTS_MAX {
            self.old.swap_remove(self.random.usize(..RECEIPTS_MAX));
        }
    }

    fn model(&self, queue: usize) -> RefMut<'_, QueueModel> {
        self.queues[queue].borrow_mut()
    }

    fn a_text(&mut self, label: Label) -> String {
        self.texts += 1;
        let length = self.random.usize(..=self.text_max);
        let word = format!("{:08x}<&\"é>\r\n ", self.random.u32(..));
        let filler: String = word.chars().cycle().take(length).collect();
        protocol::text(label, self.texts, &filler)
    }
}
