//! The limits of the services' data models.
//!
//! Sources: service documents "Understanding the Table service data model", "Scalability and performance targets for
//! Table storage", "Put Message", "Get Messages" and "List Queues". `docs/compat.md` lists limits that the live service has not confirmed.

use thiserror::Error;

/// Maximum number of custom properties of an entity. Together with PartitionKey, RowKey and Timestamp it has 255.
pub const PROPERTIES_MAX: usize = 252;
/// Maximum length of a property name, in UTF-16 code units.
pub const PROPERTY_NAME_UNITS_MAX: usize = 255;
/// Maximum length of a String value, in UTF-16 code units (64 KiB of UTF-16).
pub const STRING_UNITS_MAX: usize = 32 * 1024;
/// Maximum length of a Binary value, in bytes.
pub const BINARY_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of an entity by the service's formula (see [`crate::Properties::entity_bytes`]), in bytes.
pub const ENTITY_BYTES_MAX: usize = 1024 * 1024;
/// Maximum length of a PartitionKey or a RowKey, in UTF-16 code units (1 KiB of UTF-16).
pub const KEY_UNITS_MAX: usize = 512;
/// Maximum number of entities on a page of a query.
pub const PAGE_ENTITIES_MAX: usize = 1000;
/// Maximum number of operations of an entity group transaction.
pub const BATCH_OPERATIONS_MAX: usize = 100;
/// Maximum size of a request body, also of an entity group transaction, in bytes.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of stored access policies of a table.
pub const POLICIES_MAX: usize = 5;

/// Maximum length of a message's text, in bytes of UTF-8.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of messages that Get Messages and Peek Messages return.
pub const MESSAGES_MAX: usize = 32;
/// Maximum visibility timeout of a message: seven days, in seconds.
pub const VISIBILITY_SECONDS_MAX: u64 = 7 * 86_400;
/// Maximum number of queues on a page of List Queues.
pub const PAGE_QUEUES_MAX: usize = 5000;

/// The limit or rule of the data model that an entity violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LimitError {
    /// More than [`PROPERTIES_MAX`] custom properties.
    #[error("more than {PROPERTIES_MAX} properties")]
    TooManyProperties,
    /// A property name longer than [`PROPERTY_NAME_UNITS_MAX`].
    #[error("a property name is longer than {PROPERTY_NAME_UNITS_MAX} UTF-16 code units")]
    PropertyNameTooLong,
    /// A property name that is not an identifier.
    #[error("a property name is not an identifier")]
    PropertyNameInvalid,
    /// A String longer than [`STRING_UNITS_MAX`], or a Binary longer than [`BINARY_BYTES_MAX`].
    #[error("a property value is larger than 64 KiB")]
    PropertyValueTooLarge,
    /// An entity over [`ENTITY_BYTES_MAX`].
    #[error("the entity is larger than 1 MiB")]
    EntityTooLarge,
    /// The same property occurs twice.
    #[error("a property is given twice")]
    DuplicateProperty,
}
