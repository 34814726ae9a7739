//! The Queue service: clients, messages and long polling. Each operation has a separate file with its name.

mod clear_messages;
mod create_queue;
mod delete_message;
mod delete_queue;
mod get_messages;
mod list_queues;
mod message_poll;
mod peek_messages;
mod put_message;
mod queue_acl;
mod queue_client;
mod queue_metadata;
mod queue_request;
mod queue_service_client;
mod service_properties;
mod service_stats;
mod update_message;

pub use create_queue::QueueCreated;
pub use get_messages::{ReceiveOptions, ReceivedMessage};
pub use list_queues::{ListQueuesOptions, QueuePageStream, QueueStream};
pub use message_poll::MessagePoll;
pub use peek_messages::PeekedMessage;
pub use put_message::{MessageExpiry, SendOptions, SentMessage};
pub use queue_client::QueueClient;
pub use queue_metadata::QueueProperties;
pub use queue_service_client::QueueServiceClient;
pub use update_message::UpdatedMessage;
