//! Estimates the processors that the requests of a range used.
//!
//! The system measures only the whole process: requests, and background work such as compactions, backups, deleting the
//! rows of dropped tables, and reading all keys after a start, partly on the request threads. So the estimate is the
//! range's share of the process total, capped by the maximum that its requests can cost: a range with one request a
//! second does not use a processor.

use partita_heat::Counts;
use std::time::Duration;

/// The maximum processor time of a request in microseconds, before the cost of each row and each byte. These maxima are
/// at least about twice the times measured on two shared cores (`docs/ranges.md`): a get 35 to 54, an insert 50 to 85,
/// a transaction of 100 inserts 2,400, a page of 1,000 rows 5,800. On a slower machine this underestimates small
/// requests, but then the request rate shows that a range is hot.
const REQUEST_US: f64 = 100.0;
/// The maximum additional processor time of each row that a request reads or changes, in microseconds.
const ROW_US: f64 = 50.0;
/// The maximum additional processor time of each byte of keys and rows that a request reads or writes, in microseconds.
const BYTE_US: f64 = 0.01;

/// An estimate of the processors that requests used in a time: their share of `load_of_all`, times the `busy` processors
/// of the process, capped by the maximum cost of the requests.
pub(crate) fn cores(counts: &Counts, elapsed: Duration, load_of_all: u64, busy: f64) -> f64 {
    let share = counts.load() as f64 / load_of_all.max(1) as f64;
    (busy * share).min(explained(counts, elapsed))
}

/// The maximum number of processors that requests can have used in a time, from the maximum times above.
fn explained(counts: &Counts, elapsed: Duration) -> f64 {
    let rows = counts.rows_scanned + counts.rows_written;
    let bytes = counts.bytes_in + counts.bytes_out;
    let most_us =
        counts.requests() as f64 * REQUEST_US + rows as f64 * ROW_US + bytes as f64 * BYTE_US;
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 {
        most_us / 1e6 / seconds
    } else {
        0.0
    }
}
