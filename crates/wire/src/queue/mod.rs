//! The Queue protocol: operations and resources, parameters, metadata, rights, messages and lists of queues as XML.
//!
//! This module uses the shared parts at the top of the crate, which do not depend on it. Access policies, service
//! properties and service stats have the same bodies in every service, so they are there too.
//!
//! Its files are named by what a request or an answer consists of, because most operations share a few of them.

mod answer;
mod auth;
mod error;
mod list_parameters;
mod message_body;
mod messages;
mod metadata;
mod operation;
mod parameter;
mod parameters;
mod queue_list;
mod resource;
mod routing;

pub use answer::has_error_code_header;
pub use auth::{Access, QueueRules, QueueSas, QueueSasTerms, SignedRequest};
pub use error::{
    ERROR_CODES, invalid_pop_receipt, invalid_xml, visibility_after_expiry, write_error_xml,
};
pub use list_parameters::{ListParameters, write_marker};
pub use message_body::{MESSAGE_BODY_BYTES_MAX, body_too_large, read_message, write_message};
pub use messages::{MessageFields, MessageView, ReceivedMessage, read_messages, write_messages};
pub use metadata::{METADATA_PREFIX, invalid_metadata, metadata_headers, read_metadata};
pub use operation::Operation;
pub use parameters::{GetParameters, PutParameters, UpdateParameters, peek_count, pop_receipt};
pub use queue_list::{ListedQueue, QueueList, QueueListWriter, read_queue_list};
pub use resource::Resource;

/// The permissions of a stored access policy of a queue, in the order in which clients write them.
pub const POLICY_PERMISSIONS: &str = "raup";
