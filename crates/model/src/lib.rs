//! The data model of the storage services: names, limits, metadata, the ordered key codec; of the Table service also
//! typed values, entities in their stored form, ETags and filters.
//!
//! This crate is pure: no I/O, no clock. The protocol's text formats are in the crate `wire`, except the text of
//! date-times, GUIDs and ETags, and the writing (not the parsing) of filters.

mod access_policy;
mod continuation;
mod datetime;
mod entity;
mod entity_range;
mod etag;
mod filter;
mod foreign;
mod guid;
mod key;
pub mod limits;
mod metadata;
mod names;
mod serde_as;
mod serde_text;
mod service_properties;
mod stack_text;
mod stored;
mod time_to_live;
mod utf16;
mod value;
mod value_convert;

pub use access_policy::{AccessPolicy, SignedIdentifier};
pub use continuation::{ContinuationToken, EntityPosition};
pub use datetime::{DateTime, DateTimeText, ParseDateTimeError};
pub use entity::{Entity, EntityDraft};
pub use entity_range::{EntityBound, EntityRange};
pub use etag::{ETag, ETagText, ParseETagError};
pub use filter::{Comparison, Filter, Property, Row};
pub use guid::{Guid, GuidText, ParseGuidError};
pub use key::{
    KeyError, KeyKind, KeyReader, KeyWriter, MessagePosition, QueueId, QueueSpace, TableId,
    TableSpace, account_of, container_prefix, indivisible_prefix, partition_of_bound,
};
pub use limits::LimitError;
pub use metadata::{InvalidMetadata, METADATA_BYTES_MAX, Metadata};
pub use names::{
    AccountName, InvalidKey, InvalidName, QueueName, TableName, check_key, check_property_name,
};
pub use serde_as::{as_date_time, as_guid};
pub use serde_text::{DATE_TIME_NEWTYPE, GUID_NEWTYPE};
pub use service_properties::{AnalyticsVersion, CorsRule, Logging, Metrics, ServiceProperties};
pub use stack_text::StackText;
pub use stored::{
    Properties, PropertiesBuilder, PropertyIter, PropertyRef, Stored, StoredError, is_plain,
    restamped,
};
pub use time_to_live::{InvalidTimeToLive, TimeToLive};
pub use utf16::{compare as compare_utf16, len as utf16_len, successor};
pub use value::{EdmType, TypedValue, Value, ValueRef};
pub use value_convert::WrongType;
