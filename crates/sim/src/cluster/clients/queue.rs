//! Clients of queues: the sessions of the simulation of a single server, on all servers. Every answer is compared with the
//! model of its queue; at the end, all messages are received, and none may be missing.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use tokio::time::sleep;

use super::connection::PATIENCE;
use super::{Answered, Connection, LAST_READS, Load};
use crate::client::Answer;
use crate::cluster::scenario::up_to;
use crate::queue_model::{Found, QueueModel};
use crate::workload::queue::protocol::{QueueRequest, found};
use crate::workload::queue::session::{Asks, QueueSession, session_name};
use crate::workload::queue::{Queues, now, queue_name};

/// A request without an answer is executed within this time, or never: the patience of the client, the longest fault of a
/// link, and the time that the owner of a range may take.
const LATE: Duration = Duration::from_secs(30);

/// How long a client repeats a request that was not executed.
const REPEATS: Duration = Duration::from_secs(20);

/// Longer than the end of a simulation takes.
const HOUR: Duration = Duration::from_secs(3_600);

impl Asks for Connection {
    /// Repeats a request that was not executed.
    async fn ask(
        &mut self,
        request: &QueueRequest,
        wait: Duration,
        _random: &mut fastrand::Rng,
    ) -> anyhow::Result<Option<Answer>> {
        let began = Instant::now();
        while began.elapsed() < REPEATS {
            match self.send_within(request, PATIENCE + wait).await? {
                Answered::Got(answer) => return Ok(Some(answer)),
                Answered::Refused => {}
                Answered::Unknown => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// The models of some empty queues.
pub(super) fn models(count: usize) -> Queues {
    (0..count)
        .map(|_| RefCell::new(QueueModel::new(LATE)))
        .collect()
}

/// Creates the queues.
pub(super) async fn create(load: &Load) -> anyhow::Result<()> {
    let mut connection = load.connect_to_queues("queue-owner")?;
    let deadline = Instant::now() + LAST_READS;
    for queue in 0..load.queues.len() {
        let request = QueueRequest::create(&queue_name(queue));
        let created = load
            .until_answered(&mut connection, &request, deadline)
            .await;
        let (_, created) = created?;
        // A repeated request may find the queue of the first.
        ensure!(
            matches!(created.status, 201 | 204),
            "creating a queue: {} {}",
            created.status,
            created.text()
        );
    }
    Ok(())
}

/// Makes operations of one session until all operations are made.
pub(super) async fn repeat(load: &Load, number: u64) -> anyhow::Result<()> {
    let scenario = &load.scenario;
    let connection = load.connect_to_queues(&session_name(number))?;
    let (seed, text_max) = (scenario.seed, scenario.message_text_max);
    let queues = Rc::clone(&load.queues);
    let mut session = QueueSession::new(seed, text_max, number, queues, connection);
    while load.begins_operation() {
        session.operation().await?;
        sleep(up_to(&mut session.random, scenario.pause_max)).await;
    }
    load.ends(&session.connection);
    load.work.borrow_mut().messages += session.messages;
    Ok(())
}

/// Waits until no message is hidden, and receives and deletes all.
pub(super) async fn drain(load: &Load) -> anyhow::Result<()> {
    let mut connection = load.connect_to_queues("queue-auditor")?;
    for (queue, model) in load.queues.iter().enumerate() {
        let drained = drain_one(load, &mut connection, &queue_name(queue), model).await;
        drained.with_context(|| format!("emptying queue {queue}"))?;
    }
    Ok(())
}

async fn drain_one(
    load: &Load,
    connection: &mut Connection,
    queue: &str,
    model: &RefCell<QueueModel>,
) -> anyhow::Result<()> {
    let visible = model.borrow().all_visible();
    sleep(visible.saturating_sub(now())).await;
    loop {
        let found = receive(connection, queue, model).await?;
        if found.is_empty() {
            return model.borrow().check_empty(now()).map_err(wrong);
        }
        load.work.borrow_mut().messages += found.len() as u64;
        for message in found {
            delete(connection, queue, model, &message).await?;
        }
    }
}

async fn receive(
    connection: &mut Connection,
    queue: &str,
    model: &RefCell<QueueModel>,
) -> anyhow::Result<Vec<Found>> {
    let receive = model.borrow_mut().receive_sent(32, HOUR, now());
    let request = QueueRequest::receive(queue, &receive, Duration::ZERO);
    let answer = ask(connection, &request).await?;
    let found = found(&answer, 32)?;
    let checked = model.borrow_mut().receive_done(&receive, &found, now());
    checked.map_err(wrong)?;
    Ok(found)
}

async fn delete(
    connection: &mut Connection,
    queue: &str,
    model: &RefCell<QueueModel>,
    message: &Found,
) -> anyhow::Result<()> {
    let receipt = message.receipt.as_deref().context("no receipt")?;
    let sent = model
        .borrow_mut()
        .change_sent(message.label, receipt, None, now());
    let change = sent.map_err(wrong)?;
    let request = QueueRequest::delete(queue, &message.id, receipt);
    ask(connection, &request).await?.expect(204)?;
    let done = model.borrow_mut().change_done(&change, None, now());
    done.map_err(wrong)
}

/// Sends a request when all faults are over: it is answered.
async fn ask(connection: &mut Connection, request: &QueueRequest) -> anyhow::Result<Answer> {
    let mut random = fastrand::Rng::with_seed(0);
    let asked = connection.ask(request, Duration::ZERO, &mut random).await?;
    asked.with_context(|| format!("{request:?}: not answered after all faults"))
}

fn wrong(text: String) -> anyhow::Error {
    anyhow!(text)
}
