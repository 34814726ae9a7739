//! One request to the Queue service, from its head to its answer: the parts that only this protocol has.

use super::super::protocol::{Exchange, Protocol};
use super::super::reply::Reply;
use super::super::request_head::RequestHead;
use super::call::{AuthorizedRequest, Call, QueueRequest};
use super::{Outcome, QueueFront, Refused, authenticate, get_messages};
use crate::front::Front;
use crate::metrics;
use bytes::Bytes;
use hyper::{StatusCode, header};
use partita_model::{AccountName, QueueName, SignedIdentifier};
use partita_peer::forward::ServiceId;
use partita_queue::{Error, Service};
use partita_rt::Shutdown;
use partita_service::{Account, AccountProperties};
use partita_wire::queue::{
    Access, MESSAGE_BODY_BYTES_MAX, Operation, QueueRules, QueueSas, Resource,
};
use partita_wire::{AccountKeys, Failure, Method, ServiceKind, SharedKey, Target, VerifiedSas};

impl Protocol for QueueFront {
    const KEEPS_SPELLINGS: bool = true;

    type Exchange<'r> = Call<'r>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn begin<'r>(&'r self, head: RequestHead<'r>) -> Call<'r> {
        Call::new(self, head)
    }
}

impl<'r> Exchange<'r> for Call<'r> {
    const SERVICE: ServiceKind = ServiceKind::Queue;
    const SERVICE_ID: ServiceId = ServiceId::Queue;

    type Rules = QueueRules;
    type Sas = QueueSas<'r>;
    type Own = QueueRequest<'r>;

    fn head(&self) -> &RequestHead<'r> {
        &self.head
    }

    fn head_mut(&mut self) -> &mut RequestHead<'r> {
        &mut self.head
    }

    fn operation(&self) -> metrics::Operation {
        metrics::Operation::Queue(self.operation)
    }

    fn verify_key(
        &self,
        target: &Target<'r>,
        shared_key: &SharedKey<'_>,
        keys: &AccountKeys,
    ) -> Result<Access, Failure> {
        authenticate::by_key(self, target, shared_key, keys)
    }

    fn verify_sas(
        target: &Target<'r>,
        account: &Account<AccountKeys>,
        sas: QueueSas<'r>,
    ) -> Result<VerifiedSas<'r, QueueRules>, Failure> {
        let resource = Resource::of(target)?;
        sas.verify(account.name.as_str(), resource.queue(), &account.keys)
    }

    async fn with_policies<T: Send>(
        &self,
        account: &AccountName,
        queue: &str,
        read: impl FnOnce(&[SignedIdentifier]) -> T + Send,
    ) -> Result<Option<T>, Refused> {
        let Ok(name) = QueueName::new(queue) else {
            return Ok(Some(read(&[])));
        };
        let Some(service) = self.service_here() else {
            return Ok(None);
        };
        match service.queue(account, &name).await {
            Ok(queue) => Ok(Some(read(&queue.policies))),
            Err(Error::QueueNotFound) => Ok(Some(read(&[]))),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_preflight(&mut self) {
        self.operation = Some(Operation::Preflight);
    }

    fn authorize(
        &mut self,
        target: Target<'r>,
        method: Method,
        account: &'r Account<AccountKeys>,
        access: Access,
    ) -> Result<AuthorizedRequest<'r>, Refused> {
        let resource = Resource::of(&target)?;
        let queue = resource.queue_name()?;
        let operation = Operation::of(&target, method, &resource)?;
        self.operation = Some(operation);
        access.check(operation, resource.queue())?;
        Ok(AuthorizedRequest {
            target,
            account,
            operation,
            body: Bytes::new(),
            own: QueueRequest { resource, queue },
        })
    }

    fn body_bytes_max(request: &AuthorizedRequest<'r>) -> Option<usize> {
        match request.operation {
            Operation::PutMessage | Operation::UpdateMessage => Some(MESSAGE_BODY_BYTES_MAX),
            _ => None,
        }
    }

    async fn place(&self, request: &AuthorizedRequest<'r>) -> Result<Bytes, Refused> {
        let is_on_messages = matches!(
            request.operation,
            Operation::PutMessage
                | Operation::GetMessages
                | Operation::PeekMessages
                | Operation::UpdateMessage
                | Operation::DeleteMessage
        );
        let queue = request.own.queue.as_ref().filter(|_| is_on_messages);
        let Some(queue) = queue else {
            return Ok(Service::place_of_catalog());
        };
        match self.service()?.queue(&request.account.name, queue).await {
            Ok(queue) => Ok(Service::place_of_messages(&queue)),
            Err(Error::QueueNotFound) => Ok(Service::place_of_catalog()),
            Err(error) => Err(error.into()),
        }
    }

    fn place_of_catalog() -> Bytes {
        Service::place_of_catalog()
    }

    fn is_bulk(request: &AuthorizedRequest<'r>) -> bool {
        matches!(
            request.operation,
            Operation::GetMessages | Operation::PeekMessages | Operation::ListQueues
        )
    }

    fn wait_end(&self, request: &AuthorizedRequest<'r>) -> Option<Shutdown> {
        let waits = request.operation == Operation::GetMessages && get_messages::waits(self);
        waits.then(|| self.front.shutdown.clone())
    }

    async fn run(&self, request: &AuthorizedRequest<'r>) -> Outcome {
        super::run(self, request).await
    }

    fn properties(&self) -> Result<AccountProperties<'_>, Refused> {
        Ok(self.service()?.properties())
    }

    fn refuse(&self, failure: &Failure) -> Reply {
        self.refusal(failure)
    }

    fn complete(&self, reply: Reply) -> Reply {
        let is_read = self.operation.is_some_and(Operation::has_cache_control);
        let uncached = (is_read && reply.status == StatusCode::OK)
            .then_some((header::CACHE_CONTROL, "no-cache"));
        self.head.complete(reply, uncached)
    }
}
