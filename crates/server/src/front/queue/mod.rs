//! The Queue protocol: reads requests, calls the Queue service, writes replies. Every operation has a file of its name.

mod answer;
mod authenticate;
mod call;
mod clear_messages;
mod create_queue;
mod delete_message;
mod delete_queue;
mod failure;
mod get_messages;
mod headers;
mod list_queues;
mod message;
mod peek_messages;
mod put_message;
mod queue_acl;
mod queue_metadata;
mod service_properties;
mod service_stats;
#[cfg(test)]
mod tests;
mod update_message;

use super::Front;
use super::listener::listen;
use super::protocol::{Exchange as _, Outcome};
use super::refused::Refused;
use super::reply::Reply;
use call::{AuthorizedRequest, Call};
use partita_queue::{Queue, Service};
use partita_rt::net::Listener;
use partita_rt::{Shutdown, Tasks};
use partita_wire::queue::Operation;
use std::sync::Arc;

/// The front of the Queue service.
#[derive(Debug)]
pub struct QueueFront {
    front: Front,
    /// `None` in a server of a cluster, which may serve a store or not.
    service: Option<Arc<Service>>,
    shutdown: Shutdown,
}

impl QueueFront {
    /// A front of a service, or of what the membership of the server serves. Requests that wait for messages end at the
    /// shutdown.
    pub const fn new(front: Front, service: Option<Arc<Service>>, shutdown: Shutdown) -> Self {
        Self {
            front,
            service,
            shutdown,
        }
    }

    /// Accepts connections until shutdown, each a task of `tasks`.
    pub async fn listen(self: Arc<Self>, listener: Box<dyn Listener>, tasks: Tasks) {
        listen(self, listener, tasks).await;
    }
}

/// Performs the operation.
async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    match request.operation {
        Operation::ListQueues => list_queues::run(call, request).await,
        Operation::CreateQueue => create_queue::run(call, request).await,
        Operation::DeleteQueue => delete_queue::run(call, request).await,
        Operation::GetQueueMetadata => queue_metadata::get(call, request).await,
        Operation::SetQueueMetadata => queue_metadata::set(call, request).await,
        Operation::GetQueueAcl => queue_acl::get(call, request).await,
        Operation::SetQueueAcl => queue_acl::set(call, request).await,
        Operation::PutMessage => put_message::run(call, request).await,
        Operation::GetMessages => get_messages::run(call, request).await,
        Operation::PeekMessages => peek_messages::run(call, request).await,
        Operation::UpdateMessage => update_message::run(call, request).await,
        Operation::DeleteMessage => delete_message::run(call, request).await,
        Operation::ClearMessages => clear_messages::run(call, request).await,
        Operation::GetQueueServiceProperties => service_properties::get(call, request).await,
        Operation::SetQueueServiceProperties => service_properties::set(call, request).await,
        Operation::GetQueueServiceStats => Ok(service_stats::run(call)),
        Operation::Preflight => call.preflight(&request.target).await,
    }
}

/// The queue of the path.
async fn find_queue(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Arc<Queue>, Refused> {
    let queue = call
        .service()?
        .queue(&request.account.name, request.queue()?);
    Ok(queue.await?)
}
