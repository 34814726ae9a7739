//! Sessions on queues that they share: producers and consumers.
//!
//! Every answer is compared with the [`QueueModel`] of its queue. At the end, all messages are received and deleted,
//! and none may be missing.

pub(crate) mod protocol;
pub(crate) mod session;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures::future::try_join_all;
use partita_wire::ServiceKind;
use tokio::sync::watch;

use self::protocol::QueueRequest;
use self::session::{Asks, QueueSession, session_name};
use super::connection::Connection;
use super::protocol::signature;
use super::{Plant, Progress, Work};
use crate::client::Answer;
use crate::queue_model::{QueueModel, Time};
use crate::scenario::{QUEUE_PORT, Scenario};
use crate::trace::Trace;

/// The time after which a request has no answer any more, because the server was killed.
const PATIENCE: Duration = Duration::from_secs(40);

/// A request without an answer is executed within this time, or never.
const LATE: Duration = Duration::from_secs(2);

/// The queues of all sessions.
pub(crate) type Queues = Rc<[RefCell<QueueModel>]>;

/// The name of a queue.
pub(crate) fn queue_name(queue: usize) -> String {
    format!("queue-{queue}")
}

/// The virtual time.
pub(crate) fn now() -> Time {
    turmoil::sim_elapsed().unwrap_or_default()
}

fn connection(name: &str, trace: &Trace) -> anyhow::Result<Connection> {
    let signature = signature(ServiceKind::Queue)?;
    Ok(Connection::new(name, QUEUE_PORT, signature, trace))
}

impl Asks for Connection {
    /// Now and then, cuts the connection before the answer.
    async fn ask(
        &mut self,
        request: &QueueRequest,
        wait: Duration,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<Option<Answer>> {
        let limit = match random.u32(..30) {
            0 => Duration::from_millis(random.u64(1..40)),
            _ => PATIENCE + wait,
        };
        self.send_within(request, limit).await
    }
}

/// Creates the queues, runs all sessions, and empties the queues.
///
/// # Errors
/// The first wrong answer.
pub(super) async fn run(
    scenario: &Scenario,
    trace: &Trace,
    progress: &watch::Sender<Progress>,
    plant: Option<Plant>,
) -> anyhow::Result<Work> {
    let mut owner = connection("queue-owner", trace)?;
    for queue in 0..scenario.queues {
        let answer = owner
            .send(&QueueRequest::create(&queue_name(queue)))
            .await?;
        answer.expect(201).context("creating a queue")?;
    }
    let queues: Queues = (0..scenario.queues)
        .map(|_| RefCell::new(QueueModel::new(LATE)))
        .collect();
    let sessions = (0..scenario.queue_sessions).map(|number| {
        let plant = plant.filter(|_| number == 0);
        let queues = Rc::clone(&queues);
        async move {
            let connection = connection(&session_name(number), trace)?;
            let (seed, text_max) = (scenario.seed, scenario.message_text_max);
            let session = QueueSession::new(seed, text_max, number, queues, connection);
            work(session.with_plant(plant), scenario, progress).await
        }
    });
    let mut work = Work::default();
    for done in try_join_all(sessions).await? {
        work.add(&done);
    }
    for (queue, model) in queues.iter().enumerate() {
        let drained = drain(&mut owner, &queue_name(queue), model).await;
        drained.with_context(|| format!("emptying queue {queue}"))?;
    }
    work.add(&owner.work);
    Ok(work)
}

/// Performs a session's share of the operations.
async fn work(
    mut session: QueueSession<Connection>,
    scenario: &Scenario,
    progress: &watch::Sender<Progress>,
) -> anyhow::Result<Work> {
    let share = scenario.queue_operations.div_ceil(scenario.queue_sessions);
    for _ in 0..share {
        session.operation().await?;
        session.connection.work.operations += 1;
        progress.send_modify(|progress| progress.operations += 1);
        let pause = session.random.u64(..=scenario.queue_pause_max);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    let mut work = session.connection.work;
    work.messages += session.messages;
    work.refused += session.refused;
    Ok(work)
}

/// Waits until no message is hidden, and receives and deletes all.
async fn drain(
    owner: &mut Connection,
    queue: &str,
    model: &RefCell<QueueModel>,
) -> anyhow::Result<()> {
    let visible = model.borrow().all_visible();
    tokio::time::sleep(visible.saturating_sub(now())).await;
    loop {
        let hour = Duration::from_secs(3600);
        let receive = model.borrow_mut().receive_sent(32, hour, now());
        let request = QueueRequest::receive(queue, &receive, Duration::ZERO);
        let answer = owner.send(&request).await?;
        let found = protocol::found(&answer, 32)?;
        let checked = model.borrow_mut().receive_done(&receive, &found, now());
        checked.map_err(|wrong| anyhow!(wrong))?;
        if found.is_empty() {
            let checked = model.borrow().check_empty(now());
            return checked.map_err(|wrong| anyhow!(wrong));
        }
        owner.work.messages += found.len() as u64;
        for message in found {
            let receipt = message.receipt.context("no receipt")?;
            let sent = model
                .borrow_mut()
                .change_sent(message.label, &receipt, None, now());
            let change = sent.map_err(|wrong| anyhow!(wrong))?;
            let request = QueueRequest::delete(queue, &message.id, &receipt);
            owner.send(&request).await?.expect(204)?;
            let done = model.borrow_mut().change_done(&change, None, now());
            done.map_err(|wrong| anyhow!(wrong))?;
        }
    }
}
