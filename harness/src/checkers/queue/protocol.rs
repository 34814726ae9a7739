//! Requests to the Queue service, and the parts of its answers that the workers need.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use partita_bench::Account;
use partita_bench::client::{Client, Request, Response, percent_encode};

/// The queue of all tests with checkers.
const QUEUE: &str = "/crash";

/// How long a client of a cluster waits for an answer. A server holds a request at most 2.5 s.
const OUTAGE_PATIENCE: Duration = Duration::from_secs(4);

/// A received message.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) id: String,
    pub(super) receipt: String,
    /// How often it was received.
    pub(super) dequeues: u64,
    pub(super) text: String,
}

/// A connection to the Queue service.
#[derive(Debug)]
pub(super) struct QueueConnection {
    client: Client,
    /// Whether an answer that leaves the outcome unknown is an error, like none.
    expects_outages: bool,
}

impl QueueConnection {
    pub(super) fn open(addr: SocketAddr, account: &Account) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::connect_to_queues(addr, account.clone())?,
            expects_outages: false,
        })
    }

    /// A connection to a server of a cluster. A request whose answer takes long, or leaves its outcome unknown, fails as
    /// one whose connection broke.
    pub(super) fn open_in_outages(addr: SocketAddr, account: &Account) -> anyhow::Result<Self> {
        let connection = Self::open(addr, account)?;
        connection.client.set_patience(OUTAGE_PATIENCE)?;
        Ok(Self {
            expects_outages: true,
            ..connection
        })
    }

    fn send(&mut self, request: &Request<'_>) -> anyhow::Result<Response> {
        let answer = self.client.send(request)?;
        let is_unknown = self.expects_outages && answer.status == 500;
        ensure!(!is_unknown, "unknown outcome: {}", answer.text());
        Ok(answer)
    }

    /// Creates the queue, unless it exists.
    pub(super) fn create(&mut self) -> anyhow::Result<()> {
        let created = self.send(&Request::new("PUT", QUEUE))?;
        ensure!(matches!(created.status, 201 | 204), "{}", created.text());
        Ok(())
    }

    /// The number of messages.
    pub(super) fn count(&mut self) -> anyhow::Result<u64> {
        let request = Request {
            query: "comp=metadata",
            ..Request::new("GET", QUEUE)
        };
        let answer = self.send(&request)?.expect(200)?;
        let count = answer.header("x-ms-approximate-messages-count");
        Ok(count.context("no count")?.parse()?)
    }

    /// Puts a message.
    pub(super) fn put(&mut self, text: &str) -> anyhow::Result<Response> {
        let path = format!("{QUEUE}/messages");
        let body = body(text);
        self.send(&Request {
            content_type: "application/xml",
            body: body.as_bytes(),
            ..Request::new("POST", &path)
        })
    }

    /// Receives messages, and hides them for some seconds. Fails with the server's answer if the request is refused.
    pub(super) fn receive(&mut self, count: u64, hidden: u64) -> anyhow::Result<Vec<Received>> {
        let answer = self.try_receive(count, hidden)?.expect(200)?;
        messages(&answer.text())
    }

    /// Like [`Self::receive`], but returns the answer.
    pub(super) fn try_receive(&mut self, count: u64, hidden: u64) -> anyhow::Result<Response> {
        let path = format!("{QUEUE}/messages");
        let query = format!("numofmessages={count}&visibilitytimeout={hidden}");
        self.send(&Request {
            query: &query,
            ..Request::new("GET", &path)
        })
    }

    /// Hides a received message for some seconds from now on.
    pub(super) fn update(&mut self, message: &Received, hidden: u64) -> anyhow::Result<Response> {
        let query = format!("visibilitytimeout={hidden}");
        self.on_message("PUT", message, &query)
    }

    /// Deletes a received message.
    pub(super) fn delete(&mut self, message: &Received) -> anyhow::Result<Response> {
        self.on_message("DELETE", message, "")
    }

    fn on_message(
        &mut self,
        method: &str,
        message: &Received,
        query: &str,
    ) -> anyhow::Result<Response> {
        let path = format!("{QUEUE}/messages/{}", message.id);
        let and = if query.is_empty() { "" } else { "&" };
        let query = format!(
            "popreceipt={}{and}{query}",
            percent_encode(&message.receipt)
        );
        self.send(&Request {
            query: &query,
            ..Request::new(method, &path)
        })
    }
}

/// The body of a message; the texts of the tests need no escapes.
fn body(text: &str) -> String {
    format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>")
}

/// The messages of an answer.
pub(super) fn messages(xml: &str) -> anyhow::Result<Vec<Received>> {
    let messages = xml.split("<QueueMessage>").skip(1);
    messages
        .map(|message| {
            Ok(Received {
                id: element(message, "MessageId")?.to_owned(),
                receipt: element(message, "PopReceipt")?.to_owned(),
                dequeues: element(message, "DequeueCount")?.parse()?,
                text: element(message, "MessageText")?.to_owned(),
            })
        })
        .collect()
}

/// The text of an element.
fn element<'x>(xml: &'x str, name: &str) -> anyhow::Result<&'x str> {
    let found = xml.split_once(&format!("<{name}>")).and_then(|(_, rest)| {
        let (text, _) = rest.split_once(&format!("</{name}>"))?;
        Some(text)
    });
    found.with_context(|| format!("no {name} in {xml}"))
}

/// The new receipt in the answer to an update.
pub(super) fn new_receipt(answer: &Response) -> anyhow::Result<String> {
    let receipt = answer.header("x-ms-popreceipt");
    Ok(receipt.context("no receipt in the answer")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_messages_of_an_answer() {
        let xml = "<QueueMessagesList><QueueMessage><MessageId>1</MessageId><PopReceipt>a+/=</PopReceipt>\
                   <DequeueCount>2</DequeueCount><MessageText>x</MessageText></QueueMessage></QueueMessagesList>";
        let read = messages(xml).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].receipt.as_str(), read[0].dequeues), ("a+/=", 2));
        assert!(messages("<QueueMessagesList />").unwrap().is_empty());
        assert!(messages("<QueueMessage><MessageId>1</MessageId></QueueMessage>").is_err());
    }
}
