//! A connection whose requests are counted and traced.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::ensure;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use tokio::time::{Instant, timeout_at};

use super::Work;
use crate::client::{Answer, Client};
use crate::scenario::SERVER;
use crate::trace::Trace;

/// The maximum number of attempts of a request while the server answers that it is too busy.
const TRIES: u32 = 100;

/// A request of one of the protocols.
pub(crate) trait Call: Debug {
    /// The request, with this signature.
    fn sign(&self, signature: &str) -> anyhow::Result<Request<Full<Bytes>>>;

    /// The request as the trace shows it.
    fn line(&self) -> String;

    /// What the trace shows of an answer, in addition to its status and hash.
    fn shown(&self, answer: &Answer) -> String;
}

/// A connection; its name identifies it in the trace.
pub(crate) struct Connection {
    name: String,
    client: Client,
    signature: String,
    trace: Trace,
    /// The counts of the requests over this connection.
    pub(crate) work: Work,
}

impl Connection {
    /// A connection to a port, whose requests are signed with this SAS.
    pub(crate) fn new(name: &str, port: u16, signature: String, trace: &Trace) -> Self {
        Self {
            name: name.to_owned(),
            client: Client::new(SERVER, port),
            signature,
            trace: trace.clone(),
            work: Work::default(),
        }
    }

    /// Closes the connection; the next request opens another.
    pub(crate) fn disconnect(&mut self) {
        self.client.disconnect();
    }

    /// Sends a request, and retries while the server is too busy to execute it.
    pub(crate) async fn send(&mut self, request: &impl Call) -> anyhow::Result<Answer> {
        for attempt in 1..=TRIES {
            let answer = self.client.send(request.sign(&self.signature)?).await?;
            self.work.requests += 1;
            self.note(request, &answer);
            ensure!(answer.status != 500, "{request:?}: {}", answer.text());
            if answer.status != 503 {
                return Ok(answer);
            }
            self.work.busy += 1;
            tokio::time::sleep(Duration::from_millis(10) * attempt).await;
        }
        anyhow::bail!("{request:?}: the server was busy {TRIES} times")
    }

    /// Like [`Self::send`], but gives up after `limit`, also when the connection breaks. Returns `None` then: the
    /// request may have been executed, or may still be.
    pub(crate) async fn send_within(
        &mut self,
        request: &impl Call,
        limit: Duration,
    ) -> anyhow::Result<Option<Answer>> {
        let deadline = Instant::now() + limit;
        for attempt in 1..=TRIES {
            let sending = self.client.send(request.sign(&self.signature)?);
            let Ok(Ok(answer)) = timeout_at(deadline, sending).await else {
                self.disconnect();
                self.work.lost += 1;
                self.trace
                    .note(&self.name, &format!("{} -> lost", request.line()));
                return Ok(None);
            };
            self.work.requests += 1;
            self.note(request, &answer);
            ensure!(answer.status != 500, "{request:?}: {}", answer.text());
            if answer.status != 503 {
                return Ok(Some(answer));
            }
            self.work.busy += 1;
            tokio::time::sleep(Duration::from_millis(10) * attempt).await;
        }
        anyhow::bail!("{request:?}: the server was busy {TRIES} times")
    }

    /// Adds a request and the hash of its answer to the trace.
    fn note(&self, request: &impl Call, answer: &Answer) {
        let mut hash = crc32fast::Hasher::new();
        for (name, value) in &answer.headers {
            hash.update(name.as_str().as_bytes());
            hash.update(value.as_bytes());
        }
        hash.update(&answer.body);
        let event = format!(
            "{} -> {} {} {:08x} {}",
            request.line(),
            answer.status,
            answer.body.len(),
            hash.finalize(),
            request.shown(answer),
        );
        self.trace.note(&self.name, &event);
    }
}
