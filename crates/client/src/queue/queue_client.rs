//! The client of one queue.

use crate::pipeline::Pipeline;
use crate::request::{Request, encoded};
use crate::{Endpoint, Error, Result};
use partita_wire::queue::QueueSasTerms;
use std::fmt;
use std::sync::Arc;

/// A queue. Cheap to clone; clones share connections and retry budget with their [`crate::QueueServiceClient`].
///
/// A queue delivers each message at least once, in about the order in which they were put. A received message is hidden
/// for its visibility timeout; delete it within this time, or others receive it again. So processing a message twice
/// must have the effect of processing it once.
///
/// # Retried writes
/// A write is retried even if an earlier attempt may have happened:
///
/// | write | after an attempt that may have happened |
/// | --- | --- |
/// | put a message | the queue may have the message twice; the official SDKs do the same |
/// | get messages | messages of the lost answer are hidden until their timeout, and their dequeue counts have grown |
/// | delete a message | 404 MessageNotFound counts as deleted |
/// | update a message | 404 MessageNotFound with [`crate::Outcome::MayHaveHappened`]: the earlier attempt has changed the receipt, and the message is delivered again after its visibility timeout |
/// | create a queue | [`crate::QueueCreated::Existed`] may be the effect of the earlier attempt |
/// | delete a queue | 404 QueueNotFound with [`crate::Outcome::MayHaveHappened`]: another client may have deleted it |
/// | clear messages | messages that were put in between are deleted too |
/// | set metadata, policies or service properties | the same result |
///
/// [`crate::RetryPolicy::None`] avoids all of these, and leaves the decision to the caller.
#[derive(Clone)]
pub struct QueueClient {
    pub(super) pipeline: Arc<Pipeline>,
    name: Arc<str>,
}

impl QueueClient {
    pub(super) fn new(pipeline: Arc<Pipeline>, name: &str) -> Self {
        Self {
            pipeline,
            name: name.into(),
        }
    }

    /// The queue's name, as passed to [`crate::QueueServiceClient::queue_client`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The endpoint of the account's queues.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.pipeline.account.endpoint
    }

    /// Makes a shared access signature of this queue: a query string for [`crate::Credential::Sas`]. Ignores
    /// `terms.queue`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Credential`] if this client has no shared key.
    pub fn generate_sas(&self, terms: &QueueSasTerms) -> Result<String> {
        let (account, key) = self.pipeline.shared_key()?;
        let terms = QueueSasTerms {
            queue: self.name.to_string(),
            ..terms.clone()
        };
        Ok(terms.sign(&account, &key))
    }

    /// The request with the place of the queue's messages.
    pub(super) fn on_messages(&self, request: Request) -> Request {
        request.with_place(&self.name, "")
    }

    /// `/name`
    pub(super) fn path(&self) -> Result<String> {
        Ok(format!("/{}", segment(&self.name, "the queue's name")?))
    }

    /// `/name/messages`
    pub(super) fn messages_path(&self) -> Result<String> {
        Ok(format!("{}/messages", self.path()?))
    }

    /// `/name/messages/id`
    pub(super) fn message_path(&self, id: &str) -> Result<String> {
        let id = segment(id, "the id of the message")?;
        Ok(format!("{}/{id}", self.messages_path()?))
    }
}

impl fmt::Debug for QueueClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueueClient({} at {:?})", self.name, self.pipeline)
    }
}

/// A segment of a path. An empty one is refused, because servers ignore empty segments: a request for the message with
/// the empty id would delete all messages.
fn segment(text: &str, what: &str) -> Result<String> {
    if text.is_empty() {
        return Err(Error::input(format!("{what} is empty")));
    }
    Ok(encoded(text))
}

#[cfg(test)]
mod tests {
    use crate::{ErrorKind, QueueServiceClient};

    #[test]
    fn names_and_ids_are_single_segments() {
        let text = "UseDevelopmentStorage=true";
        let service = QueueServiceClient::from_connection_string(text).unwrap();
        let queue = service.queue_client("a/b");
        assert_eq!(
            queue.message_path("x/?").unwrap(),
            "/a%2Fb/messages/x%2F%3F"
        );
        let error = queue.message_path("").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(service.queue_client("").messages_path().is_err());
    }
}
