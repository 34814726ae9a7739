//! Executes a step: reads one page, and returns the steps that cover the rest.
//!
//! With continuation tokens, a table can only be read serially. The prefix scan reads it in parallel: a condition such
//! as "PartitionKey greater than all keys with this prefix" skips all rows under a prefix. After a page of a prefix P,
//! whose last row is (K, R), the rest of P consists of three parts, in the table's order. Each is a separate step that
//! any task can execute:
//!
//! ```text
//!   P  ──page──▶ rows …(K, R) │ rest of partition K │ rest of prefix N │ rest of P after N
//!                              PartitionKey eq K      gt K, and before   from the successor
//!                              and RowKey gt R        N's successor      of N on
//! ```
//!
//! N is P with K's next character appended. If K equals P, K has no next character: the second part is left out, and
//! the third begins after K.
//!
//! Promises:
//! - the returned rows and the parts of the returned steps together cover the part of the executed step, without
//!   overlap;
//! - returned steps are in the table's order, and begin after the returned rows;
//! - if the page cannot be read, the executed step itself is returned, so no rows are lost;
//! - returned rows are in the table's order and within the part. A page with other rows is an error, because the scan
//!   would lose rows.

use super::bounds::{Bounds, Lower, Upper};
use super::prefix::lengthen;
use super::query::{Emit, Query, Tokens};
use super::source::{Keyed, NoTable, Page, PageRequest, PageSource, SourceError, compare_keys};
use super::step::{Part, Step};
use partita_model::{ContinuationToken, EntityPosition, successor};
use partita_wire::table::read_entity_token;
use thiserror::Error;

/// If only the first row of each partition is wanted, a request costs about as much as this many further rows of a page.
/// So the rest of larger partitions is skipped, with a request for each partition, and smaller ones are read through.
const SKIPPED_ROWS_MIN: usize = 100;
/// Page size, in rows, while partitions are skipped. Pages of a few rows would not show that partitions have become
/// small.
const SKIPPING_ROWS: usize = 32;
/// The factor by which the page size grows when partitions are small.
const GROWTH: usize = 8;

/// Why a step failed.
#[derive(Debug, Error)]
pub enum ScanError {
    /// The source failed. Executing the step again may succeed.
    #[error("cannot read a page")]
    Page(#[source] SourceError),
    /// The table does not exist.
    #[error(transparent)]
    NoTable(Box<NoTable>),
    /// The server returned rows that were not requested, or that are not in the service's order. A retry does not help.
    /// A serial scan may succeed, because it uses only continuation tokens.
    #[error("the server returned a row out of order or outside the requested keys")]
    Disordered {
        /// The row's PartitionKey.
        partition_key: String,
        /// The row's RowKey.
        row_key: String,
    },
    /// The server answered without rows and repeated the continuation token.
    #[error("the server's continuation token does not advance")]
    Stuck,
}

impl ScanError {
    fn of_source(error: SourceError) -> Self {
        match error.downcast::<NoTable>() {
            Ok(error) => Self::NoTable(error),
            Err(error) => Self::Page(error),
        }
    }
}

/// The result of executing a step.
#[derive(Debug)]
pub struct StepResult<R> {
    /// Rows found, in the table's order.
    pub rows: Vec<R>,
    /// Steps that cover the rest, in the table's order.
    pub steps: Vec<Step>,
    /// Why the page could not be read; `None` if it was read.
    pub failure: Option<ScanError>,
}

/// Reads one page of a step. The future may be dropped at any time; the step can then be executed again.
pub async fn execute<S: PageSource>(source: &S, query: &Query, step: &Step) -> StepResult<S::Row> {
    let options = query.options();
    let request = PageRequest {
        filter: step.filter(options.filter.as_deref()),
        select: options.select.clone(),
        top: page_rows(query, step),
        continuation: step.continuation.clone(),
    };
    let read = source.page(request).await.map_err(ScanError::of_source);
    let checked = read.and_then(|page| check(step, &page).map(|()| page));
    match checked {
        Ok(page) => take(query, step, page),
        Err(failure) => StepResult {
            rows: Vec::new(),
            steps: vec![step.clone()],
            failure: Some(failure),
        },
    }
}

fn page_rows(query: &Query, step: &Step) -> usize {
    let most = query.options().page_rows;
    step.page_rows.unwrap_or(most).clamp(1, most)
}

/// Returns an error for a page that would cause lost or duplicate rows.
fn check<R: Keyed>(step: &Step, page: &Page<R>) -> Result<(), ScanError> {
    if page.rows.is_empty() && page.continuation.is_some() && page.continuation == step.continuation
    {
        return Err(ScanError::Stuck);
    }
    let mut last: Option<(&str, &str)> = None;
    for row in &page.rows {
        let keys = (row.partition_key(), row.row_key());
        let is_after = last.is_none_or(|last| compare_keys(last, keys).is_lt());
        if !is_after || !step.part.contains(keys.0, keys.1) {
            return Err(ScanError::Disordered {
                partition_key: keys.0.to_owned(),
                row_key: keys.1.to_owned(),
            });
        }
        last = Some(keys);
    }
    Ok(())
}

fn take<R: Keyed>(query: &Query, step: &Step, page: Page<R>) -> StepResult<R> {
    let Page {
        mut rows,
        continuation,
    } = page;
    let mut is_finished = continuation.is_none();
    let last = rows
        .last()
        .map(|row| (row.partition_key().to_owned(), row.row_key().to_owned()));
    let mut rest = step.clone();
    rest.continuation.clone_from(&continuation);
    if query.options().emit == Emit::FirstOfPartition
        && let Some((key, _)) = &last
    {
        let seen = rows.len();
        rows.dedup_by(|row, first| row.partition_key() == first.partition_key());
        adapt_page(query, &mut rest, seen, rows.len());
        is_finished |= !pass_over(&mut rest, key);
    }
    let steps = match last {
        _ if is_finished => Vec::new(),
        None => vec![rest],
        Some((key, row_key)) => steps_after(query, rest, &key, &row_key, continuation.as_ref()),
    };
    StepResult {
        rows,
        steps,
        failure: None,
    }
}

/// Adapts the page size if only the first row of each partition is wanted: small pages to skip large partitions, large
/// pages to read through small ones. `seen` is the number of rows of the last page.
fn adapt_page(query: &Query, rest: &mut Step, seen: usize, partitions: usize) {
    let (now, most) = (page_rows(query, rest), query.options().page_rows);
    if partitions <= 1 || seen / partitions >= SKIPPED_ROWS_MIN {
        rest.page_rows = (SKIPPING_ROWS < most).then_some(SKIPPING_ROWS);
    } else {
        let more = now.saturating_mul(GROWTH);
        rest.page_rows = (more < most).then_some(more);
    }
}

/// Lets `rest` continue after the partition `key`; returns false if no key can follow. This takes one request, as many
/// as following the token, but skips the rest of the partition.
fn pass_over(rest: &mut Step, key: &str) -> bool {
    // The token is valid only for the old bounds.
    rest.continuation = None;
    match &mut rest.part {
        Part::Prefix { bounds, .. } | Part::Range { bounds } => {
            bounds.lower = Lower::After(key.to_owned());
            !bounds.is_empty()
        }
        Part::Partition { .. } => false,
    }
}

/// The steps after the last row of a page, given the page's continuation token.
fn steps_after(
    query: &Query,
    rest: Step,
    key: &str,
    row_key: &str,
    token: Option<&ContinuationToken>,
) -> Vec<Step> {
    let options = query.options();
    let rest_of_partition = || Part::Partition {
        key: key.to_owned(),
        after: Some(row_key.to_owned()),
    };
    let parts: Vec<Part> = match &rest.part {
        // A range continues by its token. Continuing by keys would take two requests, one of them for the rest of the
        // last partition.
        Part::Range { .. } => return vec![rest],
        Part::Partition { .. } => vec![rest_of_partition()],
        Part::Prefix { prefix, bounds } => {
            let next = token.filter(|_| options.tokens == Tokens::NextRow);
            let next = next.and_then(|token| next_row(token, key, row_key));
            let next_key = next.as_ref().map(|next| &*next.partition_key);
            let in_partition = next_key.is_none_or(|next| next == key);
            let in_partition = in_partition && options.emit == Emit::EveryRow;
            let later = cut(prefix, bounds, key, next_key.filter(|&next| next != key));
            let later = later.into_iter().filter(|(_, bounds)| !bounds.is_empty());
            let later = later.map(|(prefix, bounds)| Part::Prefix { prefix, bounds });
            let first = in_partition.then(rest_of_partition);
            first.into_iter().chain(later).collect()
        }
    };
    let steps = parts.into_iter().map(|part| Step {
        part,
        continuation: None,
        page_rows: rest.page_rows,
    });
    steps.collect()
}

/// The position of the next row, read from a token. `None` if the token has another form, or does not advance beyond
/// the last row.
fn next_row(token: &ContinuationToken, key: &str, row_key: &str) -> Option<EntityPosition> {
    let (next_key, next_row) = (&token.next_partition_key, &token.next_row_key);
    let next = read_entity_token(Some(next_key), next_row.as_deref()).ok()??;
    let place = (
        &*next.partition_key,
        next.row_key.as_deref().unwrap_or_default(),
    );
    compare_keys((key, row_key), place).is_lt().then_some(next)
}

/// Cuts the rest of a prefix after `key` into two parts: the keys that share one more character with `key`, and the
/// keys after those. If `next` is known, no row lies between `key` and `next`.
fn cut(prefix: &str, bounds: &Bounds, key: &str, next: Option<&str>) -> Vec<(String, Bounds)> {
    let after = || Lower::After(key.to_owned());
    let left = Bounds {
        lower: next.map_or_else(after, |next| Lower::From(next.to_owned())),
        upper: bounds.upper.clone(),
    };
    let Some(branch) = lengthen(prefix, key) else {
        return vec![(prefix.to_owned(), left)];
    };
    let mut within = left.clone();
    within.upper = within.upper.min(Upper::of_prefix(branch));
    let mut parts = vec![(branch.to_owned(), within)];
    if let Some(end) = successor(branch) {
        let mut later = left;
        later.lower = later.lower.max(Lower::From(end));
        parts.push((prefix.to_owned(), later));
    }
    parts
}
