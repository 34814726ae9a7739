//! The Queue service: its operations, on the storage that all services share.
//!
//! Arguments and results are `model` types, without HTTP and status codes. Each operation has a file with its name, in
//! `catalog` or `message`. `group` executes the operations on messages, `rows` has their stored form.
//!
//! Invariants:
//! - every answer depends on durable state only: a message is not handed out, and its removal not confirmed, before the
//!   change is durable;
//! - while a message is hidden, no other request receives it; its receipt is valid until the next change of the message;
//! - the stored number of messages is never below the number of messages.

mod background;
mod catalog;
mod clock;
mod error;
mod group;
mod message;
mod open_queues;
#[cfg(feature = "planted-bugs")]
mod planted;
mod report;
mod rows;
mod service;
mod target_settings;
#[cfg(test)]
mod tests;

pub use catalog::{Created, ListedQueue, Queue, QueueLocation, QueueNames, QueuePage};
pub use error::{Error, InvalidPopReceipt};
pub use message::{Message, MessageRef, PopReceipt, PutMessage, UpdateMessage};
pub use report::QueueReport;
pub use service::{Service, ServiceSettings};
pub use target_settings::TargetSettings;
