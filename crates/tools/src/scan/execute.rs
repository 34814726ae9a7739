//! What a step does: it reads its pages, and says what it left.
//!
//! The prefix scan rests on one observation: tables list only serially, but "PartitionKey greater than all that begin with a
//! prefix" skips everything under the prefix. So after a page of a prefix P, whose last row is (K, R), what is left of P falls
//! into three parts, in the table's order, each a step of its own that anybody may execute:
//!
//! ```text
//!   P  ──page──▶ rows …(K, R) │ rest of partition K │ rest of prefix N │ rest of P behind N
//!                              PartitionKey eq K      gt K, and before   from the successor
//!                              and RowKey gt R        N's successor      of N on
//! ```
//!
//! N is P and K's next character. Where K is P itself there is no N; what is behind K is left of P. The rest of a long partition can
//! be cut the same way, along the RowKeys.
//!
//! Promises:
//! - the rows returned and the parts of the steps returned are together the part of the step executed, and do not overlap;
//! - steps are returned in the table's order, and all lie behind the rows;
//! - a page that cannot be read costs nothing: rows of pages before it are returned, and the steps begin with what it had;
//! - rows come in the table's order and lie in the part; a server that does otherwise is found out, because keys would be lost.

use super::bounds::{Bounds, Lower, Upper};
use super::prefix::lengthen;
use super::query::{Emit, LongPartitions, Query, Tokens};
use super::source::{Keyed, Page, PageRequest, PageSource, SourceError};
use super::step::{Part, Step};
use partita_model::{ContinuationToken, EntityPosition, compare_utf16, successor};
use partita_wire::table::read_entity_token;
use std::cmp::Ordering;
use thiserror::Error;

/// Fewest rows asked for where only the first of each partition counts: with one row nothing could be learned from a page about
/// how many rows a partition has.
const DISTINCT_ROWS_MIN: usize = 2;
/// How much a page shrinks or grows when it holds too many rows of one partition, or only one of each.
const DISTINCT_ROWS_FACTOR: usize = 8;

/// Why a step did not read all its pages.
#[derive(Debug, Error)]
pub enum ScanError {
    /// The source failed. Executing what is left may succeed.
    #[error("cannot read a page")]
    Page(#[source] SourceError),
    /// The server returned rows that were not asked for, or not in the service's order. Trying again will not help; reading
    /// serially and trusting only continuation tokens may.
    #[error("the server returned a row out of order or outside the requested keys")]
    Disordered {
        /// The row's PartitionKey.
        partition_key: String,
        /// The row's RowKey.
        row_key: String,
    },
    /// The server answered with no row and the same continuation token again.
    #[error("the server's continuation token does not advance")]
    Stuck,
}

/// What executing a step came to.
#[derive(Debug)]
pub struct StepResult<R> {
    /// Rows found, in the table's order.
    pub rows: Vec<R>,
    /// What is left, in the table's order.
    pub steps: Vec<Step>,
    /// Pages asked for, a failed one included.
    pub queries: usize,
    /// What kept the step from going on, if it did not read all it should.
    pub failure: Option<ScanError>,
}

/// Reads the pages of a step, one after the other. If the future is dropped nothing happened, and the step can be executed again.
pub async fn execute<S: PageSource>(source: &S, query: &Query, step: &Step) -> StepResult<S::Row> {
    let mut reading = StepReader::new(query, step);
    while reading.queries < query.options().pages_per_step && !reading.finished {
        reading.queries += 1;
        let taken = match source.page(reading.request()).await {
            Ok(page) => reading.take(page),
            Err(error) => Err(ScanError::Page(error)),
        };
        if let Err(failure) = taken {
            return reading.into_result(Some(failure));
        }
    }
    reading.into_result(None)
}

/// A step under way.
struct StepReader<'a, R> {
    query: &'a Query,
    /// What the next page is asked of.
    rest: Step,
    rows: Vec<R>,
    /// The keys of the last row seen.
    last: Option<(String, String)>,
    /// The token of the last page.
    token: Option<ContinuationToken>,
    queries: usize,
    finished: bool,
}

impl<'a, R: Keyed> StepReader<'a, R> {
    fn new(query: &'a Query, step: &Step) -> Self {
        Self {
            query,
            rest: step.clone(),
            rows: Vec::new(),
            last: None,
            token: None,
            queries: 0,
            finished: false,
        }
    }

    fn page_rows(&self) -> usize {
        let most = self.query.options().page_rows;
        self.rest.page_rows.unwrap_or(most).clamp(1, most)
    }

    fn request(&self) -> PageRequest {
        let options = self.query.options();
        PageRequest {
            filter: self.rest.filter(options.filter.as_deref()),
            select: options.select.clone(),
            top: self.page_rows(),
            continuation: self.rest.continuation.clone(),
        }
    }

    fn take(&mut self, page: Page<R>) -> Result<(), ScanError> {
        self.check(&page)?;
        let last = page.rows.last().map(|row| keys(row));
        let (seen, partitions) = match self.query.options().emit {
            Emit::EveryRow => {
                self.rows.extend(page.rows);
                (0, 0)
            }
            Emit::FirstOfPartition => self.take_first_rows(page.rows),
        };
        self.finished = page.continuation.is_none();
        self.token = page.continuation;
        self.rest.continuation.clone_from(&self.token);
        if let Some((key, row_key)) = last {
            if self.query.options().emit == Emit::FirstOfPartition {
                self.pass_over(&key, seen, partitions);
            }
            self.last = Some((key, row_key));
        }
        Ok(())
    }

    /// Refuses what would lose or double rows.
    fn check(&self, page: &Page<R>) -> Result<(), ScanError> {
        if page.rows.is_empty()
            && page.continuation.is_some()
            && page.continuation == self.rest.continuation
        {
            return Err(ScanError::Stuck);
        }
        let mut last = self.last.as_ref().map(|(key, row)| (&**key, &**row));
        for row in &page.rows {
            let (key, row_key) = (row.partition_key(), row.row_key());
            let behind = last.is_none_or(|last| compare(last, (key, row_key)).is_lt());
            if !behind || !self.rest.part.contains(key, row_key) {
                return Err(ScanError::Disordered {
                    partition_key: key.to_owned(),
                    row_key: row_key.to_owned(),
                });
            }
            last = Some((key, row_key));
        }
        Ok(())
    }

    /// Keeps the first row of each partition; says how many rows and partitions the page had.
    fn take_first_rows(&mut self, rows: Vec<R>) -> (usize, usize) {
        let (seen, before) = (rows.len(), self.rows.len());
        for row in rows {
            let known = self.rows.last().map(Keyed::partition_key);
            if known != Some(row.partition_key()) {
                self.rows.push(row);
            }
        }
        (seen, self.rows.len() - before)
    }

    /// Goes on behind a partition. That costs one request, as following the token would, and skips what is left of it. Pages of
    /// which most is skipped shrink, as only one row of each partition is wanted; they grow again where partitions are small.
    fn pass_over(&mut self, key: &str, seen: usize, partitions: usize) {
        let asked = self.page_rows();
        let most = self.query.options().page_rows;
        self.rest.page_rows = if partitions <= 1 && seen > 1 {
            Some((asked / DISTINCT_ROWS_FACTOR).max(DISTINCT_ROWS_MIN))
        } else if partitions * 2 >= seen {
            let more = asked.saturating_mul(DISTINCT_ROWS_FACTOR);
            (more < most).then_some(more)
        } else {
            self.rest.page_rows
        };
        // The token belongs to the bounds it was given for.
        self.rest.continuation = None;
        match &mut self.rest.part {
            Part::Prefix { bounds, .. } | Part::Range { bounds } => {
                bounds.lower = Lower::After(key.to_owned());
                self.finished |= bounds.is_empty();
            }
            Part::Partition { .. } | Part::Rows { .. } => self.finished = true,
        }
    }

    fn into_result(self, failure: Option<ScanError>) -> StepResult<R> {
        let steps = match &self.last {
            _ if self.finished => Vec::new(),
            None => vec![self.rest],
            Some((key, row_key)) => self.what_is_left(key, row_key),
        };
        StepResult {
            rows: self.rows,
            steps,
            queries: self.queries,
            failure,
        }
    }

    /// The steps behind the row with these keys, the last one seen.
    fn what_is_left(&self, key: &str, row_key: &str) -> Vec<Step> {
        let next = self.next_row(key, row_key);
        let parts = match &self.rest.part {
            // A range goes on by its token: by keys it would take two requests, one for what is left of the last partition.
            Part::Range { .. } => return vec![self.rest.clone()],
            Part::Prefix { prefix, bounds } => {
                let next_key = next.as_ref().map(|next| &*next.partition_key);
                let in_partition = next_key.is_none_or(|next| next == key);
                let rest = in_partition && self.query.options().emit == Emit::EveryRow;
                let rest = rest.then(|| rest_of_partition(key, row_key));
                let next_key = next_key.filter(|&next| next != key);
                let behind = cut(prefix, bounds, key, next_key).into_iter();
                let behind = behind.map(|(prefix, bounds)| Part::Prefix { prefix, bounds });
                rest.into_iter().chain(behind).collect()
            }
            Part::Partition { .. } => match self.query.options().long_partitions {
                LongPartitions::Serial => vec![rest_of_partition(key, row_key)],
                LongPartitions::ByRowKey => {
                    rows_left(key, "", &Bounds::default(), row_key, next.as_ref())
                }
            },
            Part::Rows { prefix, bounds, .. } => {
                rows_left(key, prefix, bounds, row_key, next.as_ref())
            }
        };
        let not_empty = parts.into_iter().filter(|part| !part.is_empty());
        let steps = not_empty.map(|part| Step {
            part,
            continuation: None,
            page_rows: self.rest.page_rows,
        });
        steps.collect()
    }

    /// The row that the last token names, if tokens are to be read and this one can be. One that does not lead forward says
    /// nothing.
    fn next_row(&self, key: &str, row_key: &str) -> Option<EntityPosition> {
        if self.query.options().tokens == Tokens::Opaque {
            return None;
        }
        let token = self.token.as_ref()?;
        let (next_key, next_row) = (&token.next_partition_key, &token.next_row_key);
        let next = read_entity_token(Some(next_key), next_row.as_deref()).ok()??;
        let place = (
            &*next.partition_key,
            next.row_key.as_deref().unwrap_or_default(),
        );
        compare((key, row_key), place).is_lt().then_some(next)
    }
}

/// What is left of a prefix behind `key`, if nothing lies before `next`: what begins like the key with one character more, and what
/// lies behind that.
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
        let mut behind = left;
        behind.lower = behind.lower.max(Lower::From(end));
        parts.push((prefix.to_owned(), behind));
    }
    parts
}

/// What is left of a prefix of a partition's rows.
fn rows_left(
    partition: &str,
    prefix: &str,
    bounds: &Bounds,
    row_key: &str,
    next: Option<&EntityPosition>,
) -> Vec<Part> {
    if next.is_some_and(|next| next.partition_key != partition) {
        return Vec::new();
    }
    let next = next.and_then(|next| next.row_key.as_deref());
    let left = cut(prefix, bounds, row_key, next).into_iter();
    let parts = left.map(|(prefix, bounds)| Part::Rows {
        partition: partition.to_owned(),
        prefix,
        bounds,
    });
    parts.collect()
}

fn rest_of_partition(key: &str, row_key: &str) -> Part {
    Part::Partition {
        key: key.to_owned(),
        after: Some(row_key.to_owned()),
    }
}

fn keys(row: &impl Keyed) -> (String, String) {
    (row.partition_key().to_owned(), row.row_key().to_owned())
}

/// How two pairs of keys stand in a table.
fn compare(a: (&str, &str), b: (&str, &str)) -> Ordering {
    compare_utf16(a.0, b.0).then_with(|| compare_utf16(a.1, b.1))
}
