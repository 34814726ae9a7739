//! Follows a log: returns new rows.
//!
//! A follower remembers the newest time that it has seen, and queries only rows that are not older. Rows of exactly
//! that time are returned again, because another appender may add a row in the same tick; the follower remembers their
//! keys and skips them.
//!
//! ```text
//! newest                                                     older
//!   │ new rows                  │ rows of the newest time seen │ … never queried again
//!   └──────── one query ────────┴──────────────────────────────┘
//! ```
//!
//! A row may become visible after a row with a later time, because of another clock or a slower connection. The
//! follower misses it unless [`FollowOptions::late`] covers the difference.

use super::{LogTail, LogTailKey};
use crate::{Entity, Result};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use partita_model::DateTime;
use std::collections::HashSet;
use std::time::Duration;

/// The maximum number of rows that a poll returns: the newest ones. It bounds the memory of a follower after a long
/// pause.
const ROWS_MAX: usize = 100_000;
/// Ticks of 100 ns in a second.
const TICKS: u64 = 10_000_000;

/// Options of a follower. `..FollowOptions::default()` fills the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowOptions {
    /// How far to look back for rows that become visible late. Each poll queries this part of the log again. Default:
    /// zero.
    pub late: Duration,
    /// The wait after a poll that found rows. Default: 200 ms.
    pub wait_min: Duration,
    /// The longest wait; the wait doubles after each poll without rows. Default: 2 s.
    pub wait_max: Duration,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self {
            late: Duration::ZERO,
            wait_min: Duration::from_millis(200),
            wait_max: Duration::from_secs(2),
        }
    }
}

/// New rows of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The rows, oldest first.
    pub rows: Vec<Entity>,
    /// Whether the poll found 100,000 rows or more, and returned only the newest 100,000.
    pub is_cut: bool,
}

/// A follower of a log.
#[derive(Debug, Clone)]
pub struct LogFollow {
    log: LogTail,
    options: FollowOptions,
    /// The oldest time to query, for any value of `late`.
    begin: DateTime,
    /// The newest time seen.
    newest: DateTime,
    /// Seen keys that a query may return again.
    seen: HashSet<String>,
    wait: Option<Duration>,
}

impl LogTail {
    /// Follows the log after the rows in `latest`, which [`Self::latest`] returned: the follower returns only newer
    /// rows. If `latest` is empty, it returns all rows.
    ///
    /// ```
    /// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
    /// # server::on_a_server(async |connection_string| {
    /// # use partita_client::*;
    /// # let service = TableServiceClient::from_connection_string(&connection_string)?;
    /// let log = LogTail::new(service.create_table("logs").await?, "web-1");
    /// log.append(Entity::default()).await?;
    /// let mut follow = log.follow(&log.latest(10).await?, FollowOptions::default());
    /// assert!(follow.poll().await?.rows.is_empty());
    ///
    /// let key = log.append(Entity::default()).await?;
    /// let new = follow.next().await?;
    /// assert_eq!(new.rows[0].row_key(), key.to_string());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn follow(&self, latest: &[Entity], options: FollowOptions) -> LogFollow {
        self.follow_from(DateTime::MIN, latest, options)
    }

    /// Follows the log from `time` on. `latest` has the rows that [`Self::latest_since`] returned for this time: the
    /// follower returns only newer rows. If `latest` is empty, it returns all rows from `time` on.
    #[must_use]
    pub fn follow_from(
        &self,
        time: DateTime,
        latest: &[Entity],
        options: FollowOptions,
    ) -> LogFollow {
        let times = latest.iter().filter_map(time_of);
        let begin = times.min().unwrap_or(time);
        let mut follow = LogFollow {
            log: self.clone(),
            options,
            begin,
            newest: begin,
            seen: HashSet::new(),
            wait: None,
        };
        follow.saw(latest);
        follow
    }
}

/// The time in a row's RowKey; `None` if the RowKey is not a [`LogTailKey`].
fn time_of(row: &Entity) -> Option<DateTime> {
    let key = row.row_key().parse::<LogTailKey>().ok()?;
    Some(key.time())
}

impl LogFollow {
    /// Returns the rows since the last poll, without waiting for any. Cancel safe: if the future is dropped, the next
    /// poll returns the rows.
    ///
    /// # Errors
    /// As [`crate::TableClient::query_page`]. The next poll queries the same rows again.
    pub async fn poll(&mut self) -> Result<Followed> {
        let filter = self.log.from(self.floor());
        let mut rows = self.log.newest(filter, ROWS_MAX).await?;
        let is_cut = rows.len() == ROWS_MAX;
        rows.retain(|row| time_of(row).is_some() && !self.seen.contains(row.row_key()));
        self.saw(&rows);
        rows.reverse();
        Ok(Followed { rows, is_cut })
    }

    /// Waits for new rows, by polls with growing waits. Cancel safe, as [`Self::poll`].
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub async fn next(&mut self) -> Result<Followed> {
        loop {
            if let Some(wait) = self.wait {
                tokio::time::sleep(wait).await;
            }
            let followed = self.poll().await?;
            let wait = self.wait.filter(|_| followed.rows.is_empty());
            let wait = wait.map_or(self.options.wait_min, |wait| wait.saturating_mul(2));
            self.wait = Some(wait.min(self.options.wait_max));
            if !followed.rows.is_empty() {
                return Ok(followed);
            }
        }
    }

    /// The new rows as a stream that never ends: each item is the result of [`Self::next`]. After an error, the next
    /// item queries the same rows again.
    ///
    /// ```
    /// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
    /// # server::on_a_server(async |connection_string| {
    /// # use partita_client::*;
    /// use futures::TryStreamExt as _;
    /// # let service = TableServiceClient::from_connection_string(&connection_string)?;
    /// let log = LogTail::new(service.create_table("logs").await?, "web-1");
    /// log.append(Entity::default()).await?;
    /// let mut new = log.follow(&[], FollowOptions::default()).into_stream();
    /// assert_eq!(new.try_next().await?.map(|followed| followed.rows.len()), Some(1));
    /// # Ok(()) });
    /// ```
    pub fn into_stream(self) -> BoxStream<'static, Result<Followed>> {
        let next = |mut follow: Self| async move { Some((follow.next().await, follow)) };
        stream::unfold(self, next).boxed()
    }

    /// The oldest time that the next poll queries.
    fn floor(&self) -> DateTime {
        let late = self.options.late.as_secs_f64() * TICKS as f64;
        let ticks = self.newest.ticks().saturating_sub(late as u64);
        DateTime::from_ticks(ticks)
            .unwrap_or(DateTime::MIN)
            .max(self.begin)
    }

    fn saw(&mut self, rows: &[Entity]) {
        for row in rows {
            if let Some(time) = time_of(row) {
                self.newest = self.newest.max(time);
                self.seen.insert(row.row_key().to_owned());
            }
        }
        let end = LogTailKey::end_of(self.floor());
        self.seen
            .retain(|key| partita_model::compare_utf16(key, &end).is_lt());
    }
}
