//! Leases of catalog rows, so that a server need not ask the server of the catalog for each request.
//!
//! # The rule
//!
//! A server that reads a row of the catalog from another server may use the row for [`LEASE`], counted from before it
//! asked. The server of the catalog remembers when its latest lease of a row ends. Each change of an existing row, such
//! as the deletion of a table, takes these steps ([`Storage::change_catalog`](crate::Storage::change_catalog)):
//!
//! ```text
//!  server of the catalog                                  other servers
//!  1  grants no more leases of the row                    read the row without a lease
//!  2  waits until the latest lease has ended, and MARGIN  drop their copies
//!  3  locks the row, reads it, decides, commits
//!  4  grants leases again                                 read the new row
//! ```
//!
//! So no request that begins after the commit uses the old row, and no reader sees the new row and then the old one. A
//! table that no other server has used in the last second is changed without a wait. A new row needs no wait, because
//! absent rows have no leases.
//!
//! No lock is held during step 2, so a split or move of the catalog does not wait for it. After the lock is taken, the
//! end of the leases is tested again: the catalog may have been at another server during the wait.
//!
//! # A new server of the catalog
//!
//! It does not know the leases that the server before it granted. So until [`LEASE`] and [`MARGIN`] have passed since it
//! took over, each change waits ([`Storage::catalog_taken_over`](crate::Storage::catalog_taken_over)).
//!
//! # A change that was cancelled
//!
//! If the caller goes away during step 3, the commit continues. The row has no leases until a reader has waited for the
//! lock of the row, which the commit holds until it has ended.
//!
//! # Clocks
//!
//! The two servers measure the same lease, each with its clock of the time since boot, which also counts the time that a
//! machine sleeps. The rates of these clocks must differ by less than 2 %; [`MARGIN`] is 2 % and 20 ms. Wall clocks do
//! not matter.

mod catalog_change;
mod grants;
mod leased_rows;
mod serve_lease;
#[cfg(test)]
mod tests;

pub use catalog_change::CatalogChange;
pub(crate) use grants::Grants;
pub(crate) use leased_rows::LeasedRows;

use std::time::Duration;

/// How long a reader may use a row.
const LEASE: Duration = Duration::from_secs(1);
/// How much longer a change waits: the clock of a reader may be slower by 2 %.
const MARGIN: Duration = Duration::from_millis(40);
/// The maximum number of rows with leases at one time, of each side.
const ROWS_MAX: usize = 10_000;
