//! Messages, and the operations on them. Each operation sends a request to the group of its queue ([`crate::group`]),
//! except Peek Messages, which only reads.

mod delete_message;
mod get_messages;
mod peek_messages;
mod pop_receipt;
mod put_message;
mod update_message;
mod values;

pub use pop_receipt::PopReceipt;
pub use values::{Message, MessageRef, PutMessage, UpdateMessage};
