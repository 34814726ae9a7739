//! A connection whose requests are counted and traced.

use std::time::Duration;

use anyhow::ensure;

use super::Work;
use super::protocol::{TableRequest, signature};
use crate::client::{Answer, Client};
use crate::scenario::{SERVER, TABLE_PORT};
use crate::trace::Trace;

/// The maximum number of attempts of a request while the server answers that it is too busy.
const TRIES: u32 = 100;

/// A connection; its name identifies it in the trace.
pub(super) struct Connection {
    name: String,
    client: Client,
    signature: String,
    trace: Trace,
    /// The counts of the requests over this connection.
    pub(super) work: Work,
}

impl Connection {
    pub(super) fn new(name: &str, trace: &Trace) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            client: Client::new(SERVER, TABLE_PORT),
            signature: signature()?,
            trace: trace.clone(),
            work: Work::default(),
        })
    }

    /// Closes the connection; the next request opens another.
    pub(super) fn disconnect(&mut self) {
        self.client.disconnect();
    }

    /// Sends a request, and retries while the server is too busy to execute it.
    pub(super) async fn send(&mut self, request: &TableRequest) -> anyhow::Result<Answer> {
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

    /// Adds a request and the hash of its answer to the trace.
    fn note(&self, request: &TableRequest, answer: &Answer) {
        let TableRequest {
            method,
            path,
            query,
            if_match,
            body,
            ..
        } = request;
        let mut hash = crc32fast::Hasher::new();
        for (name, value) in &answer.headers {
            hash.update(name.as_str().as_bytes());
            hash.update(value.as_bytes());
        }
        hash.update(&answer.body);
        let event = format!(
            "{method} {path}?{query} {if_match:?} {:08x} -> {} {} {:08x} {:?}",
            crc32fast::hash(body.as_bytes()),
            answer.status,
            answer.body.len(),
            hash.finalize(),
            answer.header("etag"),
        );
        self.trace.note(&self.name, &event);
    }
}
