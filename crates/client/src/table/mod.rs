//! The clients of the Table service: of an account, of a table, and what they take and give.

mod access_policy;
mod create_entity;
mod delete_entity;
mod entity;
mod extension;
mod filter;
mod get_entity;
mod log_tail;
mod page;
mod query_entities;
mod read_back;
mod service;
mod submit_transaction;
mod table_client;
mod update_entity;

pub use entity::{ConvertError, ETag, Entity};
pub use filter::{Filter, PropertyFilter};
pub use log_tail::{FollowOptions, Followed, InvalidLogTailKey, LogFollow, LogTail, LogTailKey};
pub use page::{Continuation, EntityStream, InvalidContinuation, Page, PageStream, QueryOptions};
pub use service::{TableServiceClient, TableStream};
pub use submit_transaction::{TransactionAction, TransactionOutcome};
pub use table_client::{IfMatch, TableClient, UpdateMode};

pub(crate) use table_client::encoded;
use table_client::{body_of, etag_of};
