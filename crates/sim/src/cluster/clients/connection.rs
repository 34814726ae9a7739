//! A client that uses any server, and another one after a failure.

use std::time::Duration;

use partita_wire::ServiceKind;
use tokio::time::timeout;

use super::super::scenario::{SERVERS, Scenario, one_of};
use crate::client::{Answer, Client};
use crate::scenario::{QUEUE_PORT, TABLE_PORT};
use crate::trace::Trace;
use crate::workload::connection::Call;
use crate::workload::protocol::signature;

/// How long a client waits for an answer. A server holds a request at most 2.5 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(4);

/// The pause after a request that was not executed.
const PAUSE: Duration = Duration::from_millis(20);

/// What became of a request.
#[derive(Clone, Debug)]
pub(super) enum Answered {
    /// It was answered.
    Got(Answer),
    /// It was not executed.
    Refused,
    /// It may be executed, also later.
    Unknown,
}

/// A connection to one of the servers at a time; its name identifies it in the trace.
pub(super) struct Connection {
    name: String,
    servers: usize,
    pub(super) random: fastrand::Rng,
    client: Option<(&'static str, Client)>,
    port: u16,
    signature: String,
    trace: Trace,
    /// Requests that were not executed.
    pub(super) refused: u64,
}

impl Connection {
    /// A connection for requests of a service.
    pub(super) fn new(
        name: &str,
        service: ServiceKind,
        scenario: &Scenario,
        trace: &Trace,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            servers: scenario.servers,
            random: scenario.seed.stream(&format!("client {name}")),
            client: None,
            port: match service {
                ServiceKind::Queue => QUEUE_PORT,
                _ => TABLE_PORT,
            },
            signature: signature(service)?,
            trace: trace.clone(),
            refused: 0,
        })
    }

    /// Sends a request to the server of the last one, or to another.
    pub(super) async fn send(&mut self, request: &impl Call) -> anyhow::Result<Answered> {
        self.send_within(request, PATIENCE).await
    }

    /// As [`Self::send`], and waits so long for the answer.
    pub(super) async fn send_within(
        &mut self,
        request: &impl Call,
        patience: Duration,
    ) -> anyhow::Result<Answered> {
        if self.random.u32(..100) < 10 {
            self.client = None;
        }
        let servers = &SERVERS[..self.servers];
        let (server, mut client) = self.client.take().unwrap_or_else(|| {
            let server = one_of(&mut self.random, servers);
            (server, Client::impatient(server, self.port))
        });
        if !matches!(timeout(PATIENCE, client.open()).await, Ok(Ok(()))) {
            return self.refused(server, request).await;
        }
        let sending = client.send(request.sign(&self.signature)?);
        let sent = timeout(patience, sending).await;
        let Ok(Ok(answer)) = sent else {
            self.note(server, request, "no answer");
            return Ok(Answered::Unknown);
        };
        let hash = crc32fast::hash(&answer.body);
        let shown = format!("{} {hash:08x} {}", answer.status, request.shown(&answer));
        self.note(server, request, &shown);
        match answer.status {
            503 => self.refused(server, request).await,
            500 => Ok(Answered::Unknown),
            _ => {
                self.client = Some((server, client));
                Ok(Answered::Got(answer))
            }
        }
    }

    async fn refused(&mut self, server: &str, request: &impl Call) -> anyhow::Result<Answered> {
        self.note(server, request, "not executed");
        self.refused += 1;
        tokio::time::sleep(PAUSE).await;
        Ok(Answered::Refused)
    }

    fn note(&self, server: &str, request: &impl Call, outcome: &str) {
        let event = format!("{server} {} -> {outcome}", request.line());
        self.trace.note(&self.name, &event);
    }
}
