//! Logs in a table: rows whose RowKey counts down, so that the newest come first.
//!
//! - [`LogTailKey`]: such a RowKey.
//! - [`LogTail`]: one partition as a log: append, the latest, those since a time, those that come.
//! - [`LogFollow`]: the rows that come, without reading again those that have come.

mod append;
mod follow;
mod key;
mod read;

pub use follow::{FollowOptions, Followed, LogFollow};
pub use key::{InvalidLogTailKey, LogTailKey};

use crate::{TableClient, clock};
use parking_lot::Mutex;
use partita_model::DateTime;
use std::fmt;
use std::sync::Arc;

/// One partition of a table as a log. Cheap to clone; clones are one appender.
///
/// # Promises
/// - Rows that one appender appends are in the order in which it was asked to, also when its clock goes back or stands still:
///   each has a later time than the one before, by a tick if need be.
/// - Two appenders that take the same tick do not lose a row: the service refuses the second, which then takes a suffix.
/// - Between appenders, rows are ordered by the clocks of their machines.
///
/// ```
/// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
/// # server::on_a_server(async |connection_string| {
/// use partita_client::{Entity, LogTail, TableServiceClient};
///
/// let service = TableServiceClient::from_connection_string(&connection_string)?;
/// let log = LogTail::new(service.create_table("logs").await?, "web-1");
/// for line in ["started", "ready", "stopped"] {
///     let mut row = Entity::default();
///     row.insert("Line", line);
///     log.append(row).await?;
/// }
/// let latest = log.latest(2).await?;
/// assert_eq!(latest[0].get("Line"), Some(&"stopped".into()));
/// assert_eq!(latest[1].get("Line"), Some(&"ready".into()));
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct LogTail {
    table: TableClient,
    partition_key: Arc<str>,
    clock: Arc<dyn Fn() -> DateTime + Send + Sync>,
    /// The time of the last row appended.
    last: Arc<Mutex<Option<DateTime>>>,
    select: Arc<[String]>,
}

impl LogTail {
    /// The log in that partition.
    #[must_use]
    pub fn new(table: TableClient, partition_key: &str) -> Self {
        Self {
            table,
            partition_key: partition_key.into(),
            clock: Arc::new(clock::now),
            last: Arc::default(),
            select: Arc::default(),
        }
    }

    /// Reads only these properties of its rows. PartitionKey and RowKey come with them, and so does the ETag.
    #[must_use]
    pub fn select<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        Self {
            select: names.collect(),
            ..self
        }
    }

    /// Takes the time from elsewhere than the machine's clock. What was appended before does not count any more.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> DateTime + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            last: Arc::default(),
            ..self
        }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &TableClient {
        &self.table
    }

    /// The partition's key.
    #[must_use]
    pub fn partition_key(&self) -> &str {
        &self.partition_key
    }

    /// What time it is for the log.
    #[must_use]
    pub fn now(&self) -> DateTime {
        (self.clock)()
    }
}

impl fmt::Debug for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogTail")
            .field("table", &self.table.name())
            .field("partition_key", &self.partition_key)
            .finish_non_exhaustive()
    }
}
