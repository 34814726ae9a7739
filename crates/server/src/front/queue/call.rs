//! A request to the Queue service while it is answered.

use super::super::authorized::Authorized;
use super::super::refused::not_served;
use super::super::reply::Reply;
use super::super::request_head::RequestHead;
use super::{QueueFront, Refused};
use hyper::StatusCode;
use hyper::ext::ReasonPhrase;
use partita_model::QueueName;
use partita_queue::{Error, Service};
use partita_wire::queue::{Operation, Resource, write_error_xml};
use partita_wire::{Failure, Version};

/// The media type of every body.
pub(super) const XML: &str = "application/xml";

/// A request that is being answered.
#[derive(Debug)]
pub(in crate::front) struct Call<'r> {
    pub(super) head: RequestHead<'r>,
    pub(super) front: &'r QueueFront,
    pub(super) operation: Option<Operation>,
}

/// A request whose credentials permit its operation.
pub(in crate::front) type AuthorizedRequest<'r> = Authorized<'r, Operation, QueueRequest<'r>>;

/// What only requests of queues have.
#[derive(Debug)]
pub(in crate::front) struct QueueRequest<'r> {
    pub(super) resource: Resource<'r>,
    pub(super) queue: Option<QueueName>,
}

impl AuthorizedRequest<'_> {
    /// The name of the queue. Every operation on a queue has one.
    pub(super) fn queue(&self) -> Result<&QueueName, Refused> {
        Ok(self.own.queue.as_ref().ok_or(Error::QueueNotFound)?)
    }
}

impl<'r> Call<'r> {
    pub(super) const fn new(front: &'r QueueFront, head: RequestHead<'r>) -> Self {
        Self {
            head,
            front,
            operation: None,
        }
    }

    /// The service, if this server has the data of the request.
    pub(super) fn service_here(&self) -> Option<&Service> {
        self.head
            .service(&self.front.service, |store| &store.queues)
    }

    /// The service.
    ///
    /// # Errors
    /// 503 if this server does not have the data: requests are routed before they are executed.
    pub(super) fn service(&self) -> Result<&Service, Refused> {
        Ok(self.service_here().ok_or_else(not_served)?)
    }

    /// The headers of the request. An unreadable value becomes a text that no signature covers and that metadata does
    /// not allow.
    pub(super) fn headers(&self) -> impl Iterator<Item = (&'r str, &'r str)> {
        let headers = self.head.parts.headers.iter();
        headers.map(|(name, value)| {
            let text = std::str::from_utf8(value.as_bytes());
            (name.as_str(), text.unwrap_or("\u{FFFD}"))
        })
    }

    /// The version that decides the form of the answer. Only requests with a bearer token may lack one.
    pub(super) fn version(&self) -> Version {
        self.head.version.unwrap_or(Version::CLIENT_REQUEST_ID)
    }

    /// The answer to a refused request.
    pub(super) fn refusal(&self, failure: &Failure) -> Reply {
        let status = StatusCode::from_u16(failure.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut body = Vec::with_capacity(512);
        write_error_xml(failure, &self.head.occurrence(), &mut body);
        let reply = Reply::new(status).body(XML, body);
        let mut reply = self.head.with_error_code(failure, reply);
        // Clients without the code, such as those of HEAD before 2017-07-29, show this text.
        reply.reason = ReasonPhrase::try_from(failure.text().as_bytes()).ok();
        self.head.add_failure(failure, &mut reply);
        reply
    }
}
