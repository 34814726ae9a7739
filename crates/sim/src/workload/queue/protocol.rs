//! The queue protocol of a client: requests and answers.

use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use partita_server::config::WELL_KNOWN_ACCOUNT;
use partita_wire::queue::{ReceivedMessage, read_messages, write_message};

use super::super::connection::Call;
use super::super::protocol::escaped;
use crate::client::Answer;
use crate::queue_model::{Found, Label, Put, Receive, Update};

/// A request before it is signed.
#[derive(Clone, Debug)]
pub(crate) struct QueueRequest {
    method: &'static str,
    /// The path, without the account.
    path: String,
    /// The query, without the signature; empty or with `&` at its end.
    query: String,
    /// How long a receive waits for a message.
    wait: Duration,
    body: Bytes,
}

impl QueueRequest {
    fn new(method: &'static str, path: String, query: String) -> Self {
        Self {
            method,
            path,
            query,
            wait: Duration::ZERO,
            body: Bytes::new(),
        }
    }

    pub(crate) fn create(queue: &str) -> Self {
        Self::new("PUT", format!("/{queue}"), String::new())
    }

    pub(crate) fn put(queue: &str, put: &Put) -> anyhow::Result<Self> {
        let hidden = put.visibility_timeout.as_secs();
        let mut query = format!("visibilitytimeout={hidden}&");
        match put.time_to_live {
            Some(span) => query += &format!("messagettl={}&", span.as_secs()),
            None => query += "messagettl=-1&",
        }
        let mut request = Self::new("POST", format!("/{queue}/messages"), query);
        request.body = body(&put.text)?;
        Ok(request)
    }

    pub(crate) fn receive(queue: &str, receive: &Receive, wait: Duration) -> Self {
        let (count, hidden) = (receive.count, receive.visibility_timeout.as_secs());
        let query = format!("numofmessages={count}&visibilitytimeout={hidden}&");
        let mut request = Self::new("GET", format!("/{queue}/messages"), query);
        request.wait = wait;
        request
    }

    pub(crate) fn peek(queue: &str, count: usize) -> Self {
        let query = format!("peekonly=true&numofmessages={count}&");
        Self::new("GET", format!("/{queue}/messages"), query)
    }

    pub(crate) fn count(queue: &str) -> Self {
        Self::new("GET", format!("/{queue}"), "comp=metadata&".to_owned())
    }

    pub(crate) fn clear(queue: &str) -> Self {
        Self::new("DELETE", format!("/{queue}/messages"), String::new())
    }

    pub(crate) fn delete(queue: &str, id: &str, receipt: &str) -> Self {
        let query = format!("popreceipt={}&", escaped(receipt));
        Self::new("DELETE", format!("/{queue}/messages/{id}"), query)
    }

    pub(crate) fn update(
        queue: &str,
        id: &str,
        receipt: &str,
        update: &Update,
    ) -> anyhow::Result<Self> {
        let (receipt, hidden) = (escaped(receipt), update.visibility_timeout.as_secs());
        let query = format!("popreceipt={receipt}&visibilitytimeout={hidden}&");
        let mut request = Self::new("PUT", format!("/{queue}/messages/{id}"), query);
        if let Some(text) = &update.text {
            request.body = body(text)?;
        }
        Ok(request)
    }
}

fn body(text: &str) -> anyhow::Result<Bytes> {
    let body = write_message(text);
    Ok(body.map_err(|failure| anyhow!("{failure:?}"))?.into())
}

impl Call for QueueRequest {
    fn sign(&self, signature: &str) -> anyhow::Result<Request<Full<Bytes>>> {
        let Self { path, query, .. } = self;
        let mut request = Request::builder()
            .method(self.method)
            .uri(format!("/{WELL_KNOWN_ACCOUNT}{path}?{query}{signature}"))
            .header("x-ms-version", "2021-12-02")
            .header("content-length", self.body.len());
        if !self.body.is_empty() {
            request = request.header("content-type", "application/xml");
        }
        if !self.wait.is_zero() {
            request = request.header("x-partita-wait-seconds", self.wait.as_secs());
        }
        Ok(request.body(Full::new(self.body.clone()))?)
    }

    fn line(&self) -> String {
        let Self {
            method,
            path,
            query,
            wait,
            body,
        } = self;
        let hash = crc32fast::hash(body);
        format!("{method} {path}?{query} {} s {hash:08x}", wait.as_secs())
    }

    fn shown(&self, answer: &Answer) -> String {
        let error = answer.header("x-ms-error-code");
        error.unwrap_or_default().to_owned()
    }
}

/// The text of a message: its label, its version, and random characters.
pub(crate) fn text(label: Label, version: u64, filler: &str) -> String {
    format!("{} {} {version} {filler}", label.0, label.1)
}

/// The label at the beginning of a text.
fn label(text: &str) -> Option<Label> {
    let mut words = text.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The messages of an answer.
pub(crate) fn messages(answer: &Answer) -> anyhow::Result<Vec<ReceivedMessage>> {
    let messages = read_messages(&answer.body);
    messages.map_err(|failure| anyhow!("{failure:?}: {}", answer.text()))
}

/// The messages of a receive or a peek of at most `count` messages.
///
/// # Errors
/// It is not answered with 200, or returns more.
pub(crate) fn found(answer: &Answer, count: usize) -> anyhow::Result<Vec<Found>> {
    answer.expect(200)?;
    let found = |message: ReceivedMessage| {
        let text = message.text.context("a message without a text")?;
        Ok(Found {
            label: label(&text).with_context(|| format!("no label: {text}"))?,
            id: message.id,
            dequeue_count: message.dequeue_count.context("no count")?,
            receipt: message.receipt,
            text,
        })
    };
    let found: Vec<Found> = messages(answer)?
        .into_iter()
        .map(found)
        .collect::<anyhow::Result<_>>()?;
    let number = found.len();
    ensure!(number <= count, "{number} messages, not {count}");
    Ok(found)
}
