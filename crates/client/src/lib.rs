//! The Rust SDK for Azure Table and Queue storage. It works with Partita, Azurite and Azure.
//!
//! # Tables
//! The names follow the official SDKs: [`TableServiceClient`] for an account, [`TableClient`] for a table, [`Entity`]
//! for a typed row. Int64, Guid, DateTime (100 ns) and Binary keep their exact values. Your own structs work through
//! serde.
//!
//! ```
//! # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
//! # server::on_a_server(async |connection_string| {
//! use futures::TryStreamExt as _;
//! use partita_client::{Entity, Filter, QueryOptions, TableServiceClient, UpdateMode};
//!
//! let service = TableServiceClient::from_connection_string(&connection_string)?;
//! let people = service.create_table("people").await?;
//!
//! let mut entity = Entity::new("O'Brien", "Miles");
//! entity.insert("Age", 42).insert("Hired", 4_000_000_000_i64);
//! people.create_entity(&entity).await?;
//!
//! entity.insert("Age", 43);
//! people.upsert_entity(&entity, UpdateMode::Merge).await?;
//!
//! let adults = Filter::pk().eq("O'Brien").and(Filter::property("Age").ge(18));
//! let found: Vec<Entity> = people.query_entities(QueryOptions::new().filter(adults)).try_collect().await?;
//! assert_eq!(found[0].get("Age"), Some(&43.into()));
//! # Ok(()) });
//! ```
//!
//! # Queues
//! [`QueueServiceClient`] is for an account, [`QueueClient`] for a queue. A received message is hidden from others until
//! its visibility timeout ends; delete it when its work is done.
//!
//! ```
//! # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
//! # server::on_a_server(async |connection_string| {
//! use partita_client::{QueueServiceClient, ReceiveOptions};
//!
//! let service = QueueServiceClient::from_connection_string(&connection_string)?;
//! let jobs = service.create_queue("jobs").await?;
//! jobs.send_message("paint the bridge").await?;
//!
//! for message in jobs.receive_messages(&ReceiveOptions::default()).await? {
//!     assert_eq!(message.text, "paint the bridge");
//!     jobs.delete_message(&message.id, &message.receipt).await?;
//! }
//! # Ok(()) });
//! ```
//!
//! The [`guide`] has the ten things that programs do first.
//!
//! # Promises
//! - A failed write reports whether it [did not happen or may have happened](Outcome). If a retry may have met the effect
//!   of an earlier attempt, the client reports it, or detects it ([`UnknownOutcome`]; [`TableClient`] and [`QueueClient`]
//!   have the rules).
//! - Retries follow a [policy](RetryPolicy) or the wait that the server requests, within a [budget](RetryBudget). A
//!   [`RetryObserver`] sees every attempt.
//! - Answers are bounded in size, and an invalid answer is an error, not a panic.
//! - Every future may be dropped at any time. A write whose future was dropped may have happened.
//!
//! # Requirements
//! A tokio runtime with I/O and time. TLS is rustls with `ring`. It trusts those in [`ClientOptions`], the machine's
//! certificate authorities (feature `native-roots`, on by default), and with the feature `webpki-roots` those of Mozilla,
//! for containers without any.

#[doc = include_str!("guide.md")]
pub mod guide {}

mod clock;
mod connection_fault;
mod connection_string;
mod credential;
mod endpoint;
mod error;
mod http_client;
mod observer;
mod options;
mod owners;
mod pipeline;
mod proxy;
mod queue;
mod request;
mod retry;
mod table;
mod transport;
mod trust;
mod unknown_outcome;

pub use clock::now;
pub use connection_fault::ConnectionFault;
pub use connection_string::{ConnectionString, InvalidConnectionString};
pub use credential::{
    CachedToken, Credential, Rotating, Token, TokenError, TokenFn, TokenProvider, TokenSource,
};
pub use endpoint::{Endpoint, InvalidEndpoint};
pub use error::{Error, ErrorKind, Outcome, Result};
pub use http_client::{HttpAnswer, HttpClient};
pub use observer::{AttemptEvent, Decision, GiveUp, RetryObserver, RetryReason};
pub use options::ClientOptions;
pub use proxy::{InvalidProxy, Proxy, ProxyUrl};
pub use queue::{
    ListQueuesOptions, MessageExpiry, MessagePoll, PeekedMessage, QueueClient, QueueCreated,
    QueuePageStream, QueueProperties, QueueServiceClient, QueueStream, ReceiveOptions,
    ReceivedMessage, SendOptions, SentMessage, UpdatedMessage,
};
pub use retry::{RetryBudget, RetryPolicy, is_retried_status};
pub use table::{
    Continuation, ConvertError, ETag, Entity, EntityIter, EntityStream, Filter, FollowOptions,
    Followed, IfMatch, InvalidContinuation, InvalidLogTailKey, LogFollow, LogTail, LogTailKey,
    Page, PageStream, PropertyFilter, QueryOptions, TableClient, TableServiceClient, TableStream,
    TransactionAction, TransactionOutcome, UpdateMode,
};

pub use partita_model::{
    AccessPolicy, ContinuationToken, CorsRule, DateTime, EdmType, EntityPosition, Guid,
    InvalidMetadata, Logging, Metadata, Metrics, ServiceProperties, SignedIdentifier, TimeToLive,
    Value, ValueRef, WrongType,
};
pub use unknown_outcome::UnknownOutcome;

pub use partita_model::{as_date_time, as_guid};
pub use partita_wire::queue::{ListedQueue, QueueList, QueueSasTerms};
pub use partita_wire::table::{PageReader, RowReader, TableSasTerms, TableSettings};
pub use partita_wire::{
    AccountKey, AccountSasTerms, ErrorCode, GeoReplication, SasTerms, ServiceKind,
};
