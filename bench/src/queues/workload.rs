//! The turns of one connection.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, ensure};
use partita_load::LatencyHistogram;

use super::create_insert_table;
use crate::client::{Client, Request, percent_encode};
use crate::target::Target;
use crate::{Account, entity};

/// Bytes of a message's text: 1 KiB.
const TEXT_BYTES: usize = 1_024;

/// The maximum number of messages of a get.
const RECEIVED_MAX: usize = 32;

/// What a connection does in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueWorkload {
    /// Inserts an entity into a table.
    TableInsert,
    /// Puts a message into one queue.
    Put,
    /// Peeks at a message of one queue.
    Peek,
    /// Gets a message of one queue and deletes it.
    Pairs,
    /// The same with a queue for each connection.
    PairsMany,
    /// Puts a message into one queue, gets one and deletes it.
    Mixed,
    /// The same with a queue for each connection.
    MixedMany,
    /// Puts 32 messages into one queue, gets 32 at once and deletes each.
    Mixed32,
    /// Like [`Self::Mixed`], always on the same queue.
    Pass,
    /// Like [`Self::Put`], for a number of messages.
    Fill,
}

impl QueueWorkload {
    /// The name in the figures.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::TableInsert => "table-insert",
            Self::Put => "put",
            Self::Peek => "peek",
            Self::Pairs => "pairs",
            Self::PairsMany => "pairs-many",
            Self::Mixed => "mixed",
            Self::MixedMany => "mixed-many",
            Self::Mixed32 => "mixed-32",
            Self::Pass => "pass",
            Self::Fill => "fill",
        }
    }

    /// The name of the table, or the beginning of the names of the queues.
    pub(super) const fn container(self) -> &'static str {
        match self {
            Self::TableInsert => "benchqueues",
            _ => self.name(),
        }
    }

    /// Whether each connection has its own queue.
    const fn is_spread(self) -> bool {
        matches!(self, Self::PairsMany | Self::MixedMany)
    }
}

/// The queues of a workload.
pub(super) struct Queues {
    tables: SocketAddr,
    queues: SocketAddr,
    account: Account,
    /// The number before the first turn of each connection, so that loads with other numbers of connections insert
    /// other rows.
    turns_before: u64,
}

/// What a turn did.
pub(super) enum Turn {
    /// This number of turns as they are counted: one, or one for each message.
    Done(u64),
    /// No message was visible.
    NothingThere,
}

/// A message's id and its receipt, ready for a query.
pub(super) struct Received {
    id: String,
    receipt: String,
}

impl Queues {
    /// Creates the queues that a workload needs, empty, or its table.
    pub(super) fn create(
        target: &Target,
        account: &Account,
        kind: QueueWorkload,
        connections: usize,
    ) -> anyhow::Result<Self> {
        let queues = Self {
            tables: target.process.addr(),
            queues: target.process.queue_addr()?,
            account: account.clone(),
            turns_before: (connections as u64) << 24,
        };
        if kind == QueueWorkload::TableInsert {
            create_insert_table(target, account)?;
            return Ok(queues);
        }
        let mut client = Client::connect_to_queues(queues.queues, account.clone())?;
        let count = if kind.is_spread() { connections } else { 1 };
        for index in 0..count {
            let path = Self::path(kind, index);
            let created = client.send(&Request::new("PUT", &path))?;
            ensure!(matches!(created.status, 201 | 204), "{}", created.text());
            if kind != QueueWorkload::Pass {
                let messages = format!("{path}/messages");
                let cleared = client.send(&Request::new("DELETE", &messages))?;
                ensure!(cleared.status == 204, "{}", cleared.text());
            }
        }
        Ok(queues)
    }

    /// The path of a queue, without the account.
    pub(super) fn path(kind: QueueWorkload, index: usize) -> String {
        format!("/{}-{index}", kind.container())
    }

    /// The worker of a connection.
    pub(super) fn worker(&self, index: usize, kind: QueueWorkload) -> anyhow::Result<Worker> {
        let account = self.account.clone();
        let client = match kind {
            QueueWorkload::TableInsert => Client::connect(self.tables, account)?,
            _ => Client::connect_to_queues(self.queues, account)?,
        };
        let queue = if kind.is_spread() { index } else { 0 };
        Ok(Worker {
            client,
            kind,
            index,
            turns: self.turns_before,
            queue: Self::path(kind, queue),
        })
    }
}

/// One connection with its workload.
pub(super) struct Worker {
    client: Client,
    kind: QueueWorkload,
    index: usize,
    turns: u64,
    queue: String,
}

impl Worker {
    /// Puts messages before the measurement.
    pub(super) fn fill(&mut self, messages: u64) -> anyhow::Result<()> {
        for _ in 0..messages {
            self.put()?;
        }
        Ok(())
    }

    /// Takes a turn, and records the latency of each of its requests.
    pub(super) fn turn(&mut self, latency: &mut LatencyHistogram) -> anyhow::Result<Turn> {
        self.turns += 1;
        let mut timed = |worker: &mut Self, request: fn(&mut Self) -> anyhow::Result<bool>| {
            let sent = Instant::now();
            let done = request(worker);
            latency.record(sent.elapsed());
            done
        };
        let done = match self.kind {
            QueueWorkload::TableInsert => timed(self, Self::insert)?,
            QueueWorkload::Put | QueueWorkload::Fill => timed(self, Self::put)?,
            QueueWorkload::Peek => timed(self, Self::peek)?,
            QueueWorkload::Pairs | QueueWorkload::PairsMany => {
                return self.receive_and_delete(1, latency);
            }
            QueueWorkload::Mixed32 => {
                for _ in 0..RECEIVED_MAX {
                    timed(self, Self::put)?;
                }
                return self.receive_and_delete(RECEIVED_MAX, latency);
            }
            // Put, then receive and delete one: as many messages leave as come.
            _ => {
                timed(self, Self::put)?;
                return self.receive_and_delete(1, latency);
            }
        };
        Ok(if done {
            Turn::Done(1)
        } else {
            Turn::NothingThere
        })
    }

    fn insert(&mut self) -> anyhow::Result<bool> {
        let partition = entity::key('p', self.turns % 1_000);
        let row = entity::key('r', (self.index as u64) << 40 | self.turns);
        let body = entity::body(&partition, &row, self.turns);
        let path = format!("/{}", self.kind.container());
        let answer = self.client.send(&Request {
            headers: &[("Prefer", "return-no-content")],
            content_type: "application/json",
            body: body.as_bytes(),
            ..Request::new("POST", &path)
        })?;
        answer.expect(204)?;
        Ok(true)
    }

    fn put(&mut self) -> anyhow::Result<bool> {
        let text = "x".repeat(TEXT_BYTES);
        let body = format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
        let path = format!("{}/messages", self.queue);
        let answer = self.client.send(&Request {
            content_type: "application/xml",
            body: body.as_bytes(),
            ..Request::new("POST", &path)
        })?;
        answer.expect(201)?;
        Ok(true)
    }

    fn peek(&mut self) -> anyhow::Result<bool> {
        let path = format!("{}/messages", self.queue);
        let answer = self.client.send(&Request {
            query: "peekonly=true",
            ..Request::new("GET", &path)
        })?;
        let answer = answer.expect(200)?;
        ensure!(answer.body.len() > TEXT_BYTES, "an empty peek");
        Ok(true)
    }

    /// Receives messages at once, and deletes each.
    fn receive_and_delete(
        &mut self,
        count: usize,
        latency: &mut LatencyHistogram,
    ) -> anyhow::Result<Turn> {
        let sent = Instant::now();
        let messages = get(&mut self.client, &self.queue, count)?;
        latency.record(sent.elapsed());
        for message in &messages {
            let path = format!("{}/messages/{}", self.queue, message.id);
            let query = format!("popreceipt={}", message.receipt);
            let sent = Instant::now();
            let deleted = self.client.send(&Request {
                query: &query,
                ..Request::new("DELETE", &path)
            })?;
            deleted.expect(204)?;
            latency.record(sent.elapsed());
        }
        Ok(match messages.len() {
            0 => Turn::NothingThere,
            deleted => Turn::Done(deleted as u64),
        })
    }
}

/// Receives messages, and hides them for a minute.
pub(super) fn get(client: &mut Client, queue: &str, count: usize) -> anyhow::Result<Vec<Received>> {
    let path = format!("{queue}/messages");
    let query = format!("numofmessages={count}&visibilitytimeout=60");
    let answer = client.send(&Request {
        query: &query,
        ..Request::new("GET", &path)
    })?;
    let xml = answer.expect(200)?.text();
    let messages = xml.split("<QueueMessage>").skip(1);
    messages
        .map(|message| {
            Ok(Received {
                id: element(message, "MessageId")?.to_owned(),
                receipt: percent_encode(element(message, "PopReceipt")?),
            })
        })
        .collect()
}

fn element<'x>(xml: &'x str, name: &str) -> anyhow::Result<&'x str> {
    let (_, rest) = xml
        .split_once(&format!("<{name}>"))
        .with_context(|| format!("no {name} in {xml}"))?;
    Ok(rest.split('<').next().unwrap_or_default())
}
