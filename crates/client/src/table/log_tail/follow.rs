//! The rows that come to a log.
//!
//! A follower knows the newest time that it has seen, and asks only for what is not older. Rows of that very time come again,
//! because another appender may put a row into the same tick; it knows their keys and passes them over.
//!
//! ```text
//! newest                                                     older
//!   │ rows that have come since │ rows of the newest time seen │ … never asked for again
//!   └──────── one query ────────┴──────────────────────────────┘
//! ```
//!
//! A row that becomes visible after one with a later time, because of another clock or a slower connection, is missed unless the
//! follower looks back as far: [`FollowOptions::late`].

use super::{LogTail, LogTailKey};
use crate::{Entity, Result};
use partita_model::DateTime;
use std::collections::HashSet;
use std::time::Duration;

/// Most rows that one look returns; of more, the newest. A follower that was away for long must not fill the memory.
const ROWS_MAX: usize = 100_000;
/// Ticks of a second.
const TICKS: u64 = 10_000_000;

/// How a log is followed. `..FollowOptions::default()` fills the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowOptions {
    /// How far to look back for rows that become visible late. What lies that far back is asked for each time.
    pub late: Duration,
    /// The wait after a look that found something.
    pub wait_min: Duration,
    /// The longest wait: it doubles while nothing comes.
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

/// Rows that have come.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The rows in the order of their times, the newest last.
    pub rows: Vec<Entity>,
    /// Whether there were more than 100,000, of which these are the newest.
    pub is_cut: bool,
}

/// A log being followed.
#[derive(Debug, Clone)]
pub struct LogFollow {
    log: LogTail,
    options: FollowOptions,
    /// The oldest time that is asked for, however far it would look back.
    begin: DateTime,
    /// The newest time seen.
    newest: DateTime,
    /// Keys seen that a look may return again.
    seen: HashSet<String>,
    wait: Option<Duration>,
}

impl LogTail {
    /// Follows the log: the rows that come after these, which were read as its newest ([`Self::latest`]). Without any, all rows
    /// come.
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
    /// let come = follow.next().await?;
    /// assert_eq!(come.rows[0].row_key(), key.to_string());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn follow(&self, latest: &[Entity], options: FollowOptions) -> LogFollow {
        self.follow_from(DateTime::MIN, latest, options)
    }

    /// Follows the log from that time on: the rows that come after these, which were read as its newest from then on
    /// ([`Self::latest_since`]). Without any, only rows that are not older than the time come.
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

/// The time in a row's key, if it is a key of a log.
fn time_of(row: &Entity) -> Option<DateTime> {
    let key = row.row_key().parse::<LogTailKey>().ok()?;
    Some(key.time())
}

impl LogFollow {
    /// Looks once, without waiting: the rows that have come since the last look. If the future is dropped, the next look returns
    /// them.
    ///
    /// # Errors
    /// 404 TableNotFound, and whatever else a query fails by; the next look tries again.
    pub async fn poll(&mut self) -> Result<Followed> {
        let filter = self.log.from(self.floor());
        let mut rows = self.log.newest(filter, ROWS_MAX).await?;
        let is_cut = rows.len() == ROWS_MAX;
        rows.retain(|row| time_of(row).is_some() && !self.seen.contains(row.row_key()));
        self.saw(&rows);
        rows.reverse();
        Ok(Followed { rows, is_cut })
    }

    /// Waits until rows come, looking with growing pauses. If the future is dropped, no row is lost.
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub async fn next(&mut self) -> Result<Followed> {
        loop {
            if let Some(wait) = self.wait {
                tokio::time::sleep(wait).await;
            }
            let followed = self.poll().await?;
            let FollowOptions {
                wait_min, wait_max, ..
            } = self.options;
            if !followed.rows.is_empty() {
                self.wait = Some(wait_min.min(wait_max));
                return Ok(followed);
            }
            let longer = self.wait.map_or(wait_min, |wait| wait * 2);
            self.wait = Some(longer.min(wait_max));
        }
    }

    /// The oldest time that a look asks for.
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
