//! Logs in a table: the RowKeys count down, so that the newest rows come first.
//!
//! - [`LogTailKey`]: the RowKey of a row.
//! - [`LogTail`]: a partition as a log: append, read the latest rows, read rows since a time, follow.
//! - [`LogFollow`]: follows a log without reading its rows twice.

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

/// A partition of a table as a log. Cheap to clone; all clones are one appender.
///
/// # Promises
/// - The rows of one appender keep the order of its calls, even if its clock stands still or goes back: each row gets a
///   time at least one tick of 100 ns after that of the previous row.
/// - Appenders that use the same tick do not lose rows: the service refuses the second row, and its appender adds a
///   suffix to the key.
/// - The order of rows of different appenders is that of the clocks of their machines.
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
    /// The last time that was assigned to a row; `None` before the first.
    last: Arc<Mutex<Option<DateTime>>>,
    select: Arc<[String]>,
}

impl LogTail {
    /// The log in the partition `partition_key`, with the machine's clock.
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

    /// Reads only these properties of the rows. PartitionKey, RowKey and ETag are always included.
    #[must_use]
    pub fn select<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        Self {
            select: names.collect(),
            ..self
        }
    }

    /// Replaces the machine's clock. The result is a new appender: its rows are not ordered after those that this one
    /// appended before.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> DateTime + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            last: Arc::default(),
            ..self
        }
    }

    /// The table of the log.
    #[must_use]
    pub fn table(&self) -> &TableClient {
        &self.table
    }

    /// The PartitionKey of the log.
    #[must_use]
    pub fn partition_key(&self) -> &str {
        &self.partition_key
    }

    /// The current time of the log's clock.
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
