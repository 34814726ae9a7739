//! The lease: a row of the version table that allows only one runner at a time.
//!
//! ```text
//! free ──insert──▶ held ──renew, if the ETag is unchanged──▶ held ──delete──▶ free
//!                   │ expired by the server's clock, or its process has ended
//!                   └──another runner replaces the row, if the ETag is unchanged──▶ held by that runner
//! ```
//!
//! - Each change of the row requires the ETag that the runner has read, so only one of two runners succeeds.
//! - A comparison of the Timestamps of two rows shows whether a lease has expired; the server sets them, so the result
//!   does not depend on the runners' clocks. The second row, `clock`, is written to read the server's time.
//! - The row names the process that holds the lease ([`Owner`]). If that process ran on this machine and has ended, the
//!   lease is taken before it expires, after [`LeaseOptions::dead_owner_pause`]: its last requests may still arrive.
//! - [`Lease::keep`] is called before each write. It renews a lease that is older than [`LeaseOptions::renew_after`],
//!   and fails if another runner has taken the lease. A single request that takes longer than the lease is not covered:
//!   leases must last longer than requests.

use super::MigrateError;
use super::owner::Owner;
use super::record::failed;
use partita_client::{DateTime, ETag, Entity, Guid, IfMatch, TableClient, UpdateMode, Value};
use std::time::{Duration, Instant};

const PARTITION: &str = "lease";
const ROW: &str = "lease";
const CLOCK_ROW: &str = "clock";
/// Maximum number of attempts to take a free or expired lease that other runners change at the same time.
const ATTEMPTS: usize = 5;

/// The settings of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseOptions {
    /// How long the lease lasts without renewal, in whole seconds.
    pub duration: Duration,
    /// A lease of at least this age is renewed before a write.
    pub renew_after: Duration,
    /// Whether to take a lease that another runner holds. Safe only if that runner is dead.
    pub take_over: bool,
    /// How long to wait before the lease of a process that has ended is taken over. Must be longer than a request of that
    /// process may still be under way.
    pub dead_owner_pause: Duration,
}

impl Default for LeaseOptions {
    fn default() -> Self {
        let duration = Duration::from_secs(60);
        Self {
            duration,
            renew_after: duration / 3,
            take_over: false,
            dead_owner_pause: Duration::from_secs(2),
        }
    }
}

/// The lease, held by this runner.
#[derive(Debug)]
pub(super) struct Lease {
    table: TableClient,
    options: LeaseOptions,
    row: Entity,
    etag: ETag,
    renewed: Instant,
}

/// The lease as it is stored in the table.
struct StoredLease {
    etag: ETag,
    who: String,
    owner: Option<Owner>,
    written: DateTime,
    duration: Duration,
}

impl Lease {
    /// Takes the lease. Calls `on_dead_owner` with the name of its holder before it waits for the requests of a holder
    /// that has ended.
    ///
    /// # Errors
    /// [`MigrateError::Held`].
    pub(super) async fn take(
        table: &TableClient,
        who: &str,
        options: &LeaseOptions,
        on_dead_owner: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, MigrateError> {
        let mut row = Entity::new(PARTITION, ROW);
        // The random property Runner distinguishes the rows of two runners.
        let seconds = i32::try_from(options.duration.as_secs()).unwrap_or(i32::MAX);
        row.insert("Who", who)
            .insert("Runner", Guid(fastrand::u128(..).to_be_bytes()))
            .insert("Seconds", seconds);
        if let Some(owner) = Owner::this() {
            owner.add_to(&mut row);
        }
        for _ in 0..ATTEMPTS {
            let found = find(table).await?;
            if let Some(found) = &found
                && !options.take_over
            {
                wait_for_end(table, found, options, on_dead_owner).await?;
            }
            let renewed = Instant::now();
            let taken = match found {
                None => table.create_entity(&row).await,
                Some(found) => {
                    let if_match = IfMatch::ETag(found.etag);
                    table
                        .update_entity(&row, UpdateMode::Replace, &if_match)
                        .await
                }
            };
            match taken {
                Ok(etag) => {
                    return Ok(Self {
                        table: table.clone(),
                        options: options.clone(),
                        row,
                        etag,
                        renewed,
                    });
                }
                // Another runner changed the row first: read it again.
                Err(error) if matches!(error.status(), Some(404 | 409 | 412)) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(MigrateError::Lost("another runner took the lease first"))
    }

    /// Checks that this runner still holds the lease, and renews it if it is old. Must be called before each write.
    ///
    /// # Errors
    /// [`MigrateError::Lost`].
    pub(super) async fn keep(&mut self) -> Result<(), MigrateError> {
        if self.renewed.elapsed() < self.options.renew_after {
            return Ok(());
        }
        let renewed = Instant::now();
        let if_match = IfMatch::from(&self.etag);
        let written = self
            .table
            .update_entity(&self.row, UpdateMode::Replace, &if_match)
            .await;
        match written {
            Ok(etag) => {
                (self.etag, self.renewed) = (etag, renewed);
                Ok(())
            }
            Err(error) if matches!(error.status(), Some(404 | 412)) => {
                Err(MigrateError::Lost("another runner took the lease"))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Releases the lease. If the request fails, the lease remains until it expires.
    pub(super) async fn release(self) {
        let if_match = IfMatch::ETag(self.etag);
        let _ = self.table.delete_entity(PARTITION, ROW, &if_match).await;
    }
}

async fn find(table: &TableClient) -> Result<Option<StoredLease>, MigrateError> {
    let found = table.get_entity_if_exists(PARTITION, ROW).await;
    let Some(row) = found.map_err(failed)? else {
        return Ok(None);
    };
    let damaged = |what: &str| MigrateError::Damaged {
        version: ROW.to_owned(),
        what: format!("{what} is missing"),
    };
    let seconds = match row.get("Seconds") {
        Some(Value::Int32(seconds)) => u64::try_from(*seconds).unwrap_or(0),
        _ => return Err(damaged("Seconds")),
    };
    Ok(Some(StoredLease {
        who: match row.get("Who") {
            Some(Value::String(who)) => who.clone(),
            _ => "another runner".to_owned(),
        },
        owner: Owner::of(&row),
        etag: row.etag().cloned().ok_or_else(|| damaged("the ETag"))?,
        written: row.timestamp().ok_or_else(|| damaged("Timestamp"))?,
        duration: Duration::from_secs(seconds),
    }))
}

/// Returns when the lease can be taken: it has expired, or its process has ended.
///
/// # Errors
/// [`MigrateError::Held`].
async fn wait_for_end(
    table: &TableClient,
    found: &StoredLease,
    options: &LeaseOptions,
    on_dead_owner: &(dyn Fn(&str) + Sync),
) -> Result<(), MigrateError> {
    let left = left(table, found).await?;
    if left.is_zero() {
        return Ok(());
    }
    if found.owner.as_ref().is_some_and(Owner::has_ended) {
        on_dead_owner(&found.who);
        tokio::time::sleep(options.dead_owner_pause.min(left)).await;
        return Ok(());
    }
    Err(MigrateError::Held {
        who: found.who.clone(),
        ends_in: left,
    })
}

/// The time until the lease expires, by the server's clock.
async fn left(table: &TableClient, found: &StoredLease) -> Result<Duration, MigrateError> {
    let clock = Entity::new(PARTITION, CLOCK_ROW);
    let written = table.upsert_entity(&clock, UpdateMode::Replace).await;
    written.map_err(failed)?;
    let row = table.get_entity(PARTITION, CLOCK_ROW).await;
    let now = row.map_err(failed)?.timestamp();
    let now = now.unwrap_or(found.written);
    let age = now.ticks().saturating_sub(found.written.ticks());
    Ok(found
        .duration
        .saturating_sub(Duration::from_nanos(age.saturating_mul(100))))
}
