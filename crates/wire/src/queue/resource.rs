//! Resources: the service, a queue, its messages, one message. Parses the part of a path after the account.

use crate::uri::decode_path;
use crate::{ErrorCode, Failure, invalid_name, split};
use partita_model::{Guid, QueueName};
use std::borrow::Cow;

/// The segment after a queue's name that addresses its messages.
const MESSAGES: &str = "messages";

/// A resource of the Queue service. Names and ids are decoded, and unchecked until [`Resource::queue_name`] and
/// [`Resource::message_id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource<'a> {
    /// `/`: the service itself.
    Service,
    /// `/queue`
    Queue(Cow<'a, str>),
    /// `/queue/messages`
    Messages(Cow<'a, str>),
    /// `/queue/messages/id`
    Message {
        /// The queue.
        queue: Cow<'a, str>,
        /// The id.
        id: Cow<'a, str>,
    },
}

impl<'a> Resource<'a> {
    /// Parses the raw path after the account. Empty segments (doubled or trailing slashes) are ignored.
    ///
    /// # Errors
    /// 400 InvalidUri for a path that is not a resource, and for invalid escapes.
    pub fn parse(path: &'a str) -> Result<Self, Failure> {
        let mut segments = split::all(path, b'/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| decode_path(segment).ok_or(ErrorCode::InvalidUri));
        let Some(queue) = segments.next().transpose()? else {
            return Ok(Self::Service);
        };
        let Some(below) = segments.next().transpose()? else {
            return Ok(Self::Queue(queue));
        };
        if !below.eq_ignore_ascii_case(MESSAGES) {
            return Err(ErrorCode::InvalidUri.into());
        }
        let Some(id) = segments.next().transpose()? else {
            return Ok(Self::Messages(queue));
        };
        match segments.next() {
            None => Ok(Self::Message { queue, id }),
            Some(_) => Err(ErrorCode::InvalidUri.into()),
        }
    }

    /// The name of the queue as sent; `None` for the service.
    pub fn queue(&self) -> Option<&str> {
        match self {
            Self::Service => None,
            Self::Queue(queue) | Self::Messages(queue) | Self::Message { queue, .. } => Some(queue),
        }
    }

    /// The name of the queue, checked; `None` for the service.
    ///
    /// # Errors
    /// 400 InvalidResourceName, or OutOfRangeInput for the length (recording js--queueclient_create_negative).
    pub fn queue_name(&self) -> Result<Option<QueueName>, Failure> {
        let name = self.queue().map(QueueName::new);
        name.transpose().map_err(invalid_name)
    }

    /// The id of the message; `None` for other resources.
    ///
    /// # Errors
    /// 404 MessageNotFound for an id that is not a GUID: no message has it. Check the id before the pop receipt
    /// (recordings net--MessageIdClientTests_DeleteAsync_Error and UpdateAsync_Error, whose receipts are invalid too).
    pub fn message_id(&self) -> Result<Option<Guid>, Failure> {
        match self {
            Self::Message { id, .. } => Guid::parse(id)
                .map(Some)
                .map_err(|_| ErrorCode::MessageNotFound.into()),
            Self::Service | Self::Queue(_) | Self::Messages(_) => Ok(None),
        }
    }

    /// The methods that the resource supports, for the header `Allow` of a 405.
    pub const fn allow(&self) -> &'static str {
        match self {
            Self::Service => "GET, PUT",
            Self::Queue(_) => "GET, HEAD, PUT, DELETE",
            Self::Messages(_) => "GET, POST, DELETE",
            Self::Message { .. } => "PUT, DELETE",
        }
    }

    /// The same resource with owned texts.
    pub fn into_owned(self) -> Resource<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Service => Resource::Service,
            Self::Queue(queue) => Resource::Queue(own(queue)),
            Self::Messages(queue) => Resource::Messages(own(queue)),
            Self::Message { queue, id } => Resource::Message {
                queue: own(queue),
                id: own(id),
            },
        }
    }
}
