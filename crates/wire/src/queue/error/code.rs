//! The error codes that only the Queue service uses, and the list of all codes that it can answer.
//!
//! Sources: service documents "Queue Service Error Codes" and, for metadata, "Common REST API Error Codes"; texts are
//! copied from recorded answers if available.

use crate::ErrorCode;
use crate::error::{COMMON_ERROR_CODES, all_codes, error_codes};

error_codes! {
    /// The codes that only the Queue service uses.
    OWN_ERROR_CODES after COMMON_ERROR_CODES.len();

    // Malformed requests.
    InvalidMarker "InvalidMarker" 400 "The specified marker is invalid.";
    EmptyMetadataKey "EmptyMetadataKey" 400 "The key for one of the metadata key-value pairs is empty.";
    InvalidMetadata "InvalidMetadata" 400 "The specified metadata is invalid. It includes characters that are not permitted.";
    MetadataTooLarge "MetadataTooLarge" 400 "The size of the specified metadata exceeds the maximum size permitted.";

    // Queues and messages.
    QueueNotFound "QueueNotFound" 404 "The specified queue does not exist.";
    QueueAlreadyExists "QueueAlreadyExists" 409 "The specified queue already exists.";
    QueueBeingDeleted "QueueBeingDeleted" 409 "The specified queue is being deleted.";
    QueueDisabled "QueueDisabled" 409 "The specified queue has been disabled by the administrator.";
    QueueNotEmpty "QueueNotEmpty" 409 "The specified queue is not empty.";
    MessageNotFound "MessageNotFound" 404 "The specified message does not exist.";
    MessageTooLarge "MessageTooLarge" 400 "The message exceeds the maximum allowed size.";
    PopReceiptMismatch "PopReceiptMismatch" 400 "The specified pop receipt did not match the pop receipt for a dequeued message.";
}

const COUNT: usize = COMMON_ERROR_CODES.len() + OWN_ERROR_CODES.len();

/// Every code that the Queue service can answer, each at its [`ErrorCode::index`].
pub const ERROR_CODES: &[ErrorCode; COUNT] = &all_codes(OWN_ERROR_CODES);
