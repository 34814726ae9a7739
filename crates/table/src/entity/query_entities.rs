//! Query Entities: one page.
//!
//! A page ends when it is full, at its time or byte limit, when it exceeds a target, when no memory is left for more
//! rows, at the end of a range, or after the last row. The next page starts at the next matching row or, if the page
//! ended early, at the next row to read. That position is a key, so it stays valid when rows or ranges change.

use super::meter::Meter;
use super::{Expiry, RowData};
use crate::{Error, Plan, QueryClass, Service, Table};
use bytes::Bytes;
use partita_cluster::Served;
use partita_engine::{KeyRange, ScanHint};
use partita_heat::Access;
use partita_model::{EntityBound, EntityPosition, EntityRange, Filter, TableSpace};
use partita_range::{Range, RangeId, RequestStats};
use partita_service::{Admitted, Busy, Reserved, UNCOUNTED_BYTES};
use std::time::{Duration, Instant};

/// A query.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The filter that rows must pass.
    pub filter: Option<&'a Filter>,
    /// The largest number of rows on the page.
    pub top: usize,
    /// The position from a continuation token, at which the page starts; `None` for the first page.
    pub from: Option<&'a EntityPosition>,
    /// The part of the table that the caller may read.
    pub allowed: Option<&'a EntityRange>,
    /// Bytes that the response adds to each stored row; they count towards the page limit.
    pub row_bytes_more: usize,
}

impl Query<'_> {
    /// The plan of the page, and the class of the whole query.
    fn plan(&self) -> (Plan, QueryClass) {
        let mut plan = Plan::new(self.filter);
        if let Some(allowed) = self.allowed {
            plan.restrict(allowed);
        }
        let class = plan.class();
        if let Some(from) = self.from {
            let row_key = from.row_key.clone().unwrap_or_default();
            plan.resume(&EntityBound::Before(from.partition_key.clone(), row_key));
        }
        (plan, class)
    }
}

/// A page of a query.
#[derive(Debug)]
pub struct Page {
    /// The rows, in key order.
    pub rows: Vec<RowData>,
    /// The start of the next page; `None` after the last page.
    pub next: Option<EntityPosition>,
    /// Its cost.
    pub report: ScanReport,
    /// The memory of the rows.
    pub memory: Reserved,
}

/// What a page cost, for the statistics that a client can request.
#[derive(Debug, Clone)]
pub struct ScanReport {
    /// The plan of the query.
    pub plan: Plan,
    /// The class of the whole query, not of this page.
    pub class: QueryClass,
    /// Rows read.
    pub rows_read: usize,
    /// Bytes of the rows read, including keys.
    pub bytes_read: usize,
    /// The time that the page took.
    pub time: Duration,
}

/// The maximum number of rows read at a time. The first read of a page is limited to the rows that the page can still
/// take. If it does not fill the page, a filter rejects rows, so later reads are larger.
const CHUNK_ROWS_MAX: usize = 1024;
/// The maximum bytes read at a time. Without memory for so many rows, fewer are read: reading takes milliseconds of a
/// processor, and a page without memory is refused after its first large row.
const CHUNK_BYTES_MAX: usize = 4 << 20;

/// The memory of a page is reserved in pieces of this size, before rows fill it. (A chunk that is being read is not
/// counted: the admission of scans bounds the number of chunks.)
const RESERVED_STEP: usize = 64 << 10;

impl Service {
    /// The key whose server answers a query: the first key that the page reads, or the prefix of the table if it reads
    /// none.
    #[must_use]
    pub fn place_of_query(table: &Table, query: &Query<'_>) -> Bytes {
        let (plan, _) = query.plan();
        let start = plan.spans.first().map(|span| span.start.key(&table.space));
        start.unwrap_or_else(|| table.space.prefix().clone())
    }

    /// Returns one page of a query.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn query_entities(&self, table: &Table, query: Query<'_>) -> Result<Page, Error> {
        let began = self.clock().monotonic();
        let (plan, class) = query.plan();
        let start = plan.spans.first().map(|span| span.start.key(&table.space));
        if let (Some(targets), Some(start)) = (self.storage().targets.as_deref(), &start) {
            let charged = self.charged(table, start);
            let allowed = targets.check(began, &charged, || table.scope_names(start));
            allowed.inspect_err(|_| self.storage().note_throttled(start, 1))?;
        }
        let mut reader = PageReader {
            service: self,
            space: &table.space,
            meter: Meter::new(self, table),
            residual: plan.residual.as_ref(),
            expiry: Expiry::new(table, self.wall_time()),
            top: query.top,
            row_bytes_more: query.row_bytes_more,
            deadline: began + self.settings.page_time_max,
            rows: Vec::new(),
            bytes_kept: 0,
            memory: Reserved::default(),
            rows_read: 0,
            bytes_read: 0,
            first_read: None,
            range: None,
        };
        let next = reader.read(&plan.spans).await?;
        let PageReader {
            rows,
            rows_read,
            bytes_read,
            meter,
            memory,
            ..
        } = reader;
        meter.finish(start);
        let next = next.map(|key| position(&table.space, &key)).transpose()?;
        let time = self.clock().monotonic() - began;
        Ok(Page {
            rows,
            next,
            report: ScanReport {
                plan,
                class,
                rows_read,
                bytes_read,
                time,
            },
            memory,
        })
    }
}

impl Service {
    /// The number of ranges that a plan reads in all its pages.
    #[must_use]
    pub fn ranges_touched(&self, table: &Table, plan: &Plan) -> usize {
        let keys = |span: &EntityRange| (span.start.key(&table.space), span.end.key(&table.space));
        let spans: Vec<_> = plan.spans.iter().map(keys).collect();
        let ranges = self.map().ranges();
        let touched = |served: &&Served| {
            let bounds = served.range.bounds();
            let begins_before_end =
                |start: &Bytes| bounds.end.as_ref().is_none_or(|end| start < end);
            spans
                .iter()
                .any(|(start, end)| bounds.start < *end && begins_before_end(start))
        };
        ranges.iter().filter(touched).count()
    }
}

/// The position of a key, which may be the end of a range.
fn position(space: &TableSpace, key: &[u8]) -> Result<EntityPosition, Error> {
    let (partition_key, row_key) = space.decode(key)?;
    Ok(EntityPosition {
        partition_key: partition_key.into_owned(),
        row_key: Some(row_key.into_owned()),
    })
}

/// The state of a page during its read.
struct PageReader<'a> {
    service: &'a Service,
    space: &'a TableSpace,
    meter: Meter<'a>,
    residual: Option<&'a Filter>,
    expiry: Expiry,
    top: usize,
    row_bytes_more: usize,
    deadline: Instant,
    rows: Vec<RowData>,
    bytes_kept: usize,
    memory: Reserved,
    rows_read: usize,
    bytes_read: usize,
    /// The first row read in this span.
    first_read: Option<Bytes>,
    /// The range of the page. A page stays in one range, because another server may have the next one.
    range: Option<RangeId>,
}

impl<'a> PageReader<'a> {
    /// Reads until the page ends. Returns the start key of the next page.
    async fn read(&mut self, spans: &[EntityRange]) -> Result<Option<Bytes>, Error> {
        if self.top == 0 {
            return Ok(None);
        }
        for span in spans {
            if self.meter.charge() {
                return Ok(Some(span.start.key(self.space)));
            }
            if let Some(next) = self.read_span(span).await? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    async fn read_span(&mut self, span: &EntityRange) -> Result<Option<Bytes>, Error> {
        let (start, end) = (span.start.key(self.space), span.end.key(self.space));
        let route = match self.service.route(&start) {
            Ok(route) => route,
            // Another server has the next span: the page ends before it.
            Err(_) if self.range.is_some() => return Ok(Some(start)),
            Err(not_here) => return Err(not_here),
        };
        if *self.range.get_or_insert(route.range.id()) != route.range.id() {
            return Ok(Some(start));
        }
        if let Some((partition_key, row_key)) = span.point() {
            let key = self.space.entity(partition_key, row_key);
            return match route.range.get(&key).await? {
                Some(value) => self.take(key, value),
                None => Ok(None),
            };
        }
        let range_end = route.end().filter(|range_end| **range_end < end);
        let until = range_end.unwrap_or(&end).clone();
        let clock = self.service.clock();
        let (began, rows, bytes) = (clock.monotonic(), self.rows_read, self.bytes_read);
        self.first_read = None;
        let next = self.scan(&route.range, start.clone(), until).await?;
        let done = RequestStats {
            rows: self.rows_read - rows,
            bytes_out: self.bytes_read - bytes,
            latency: clock.monotonic() - began,
            ..RequestStats::default()
        };
        // The heat counts the read of a span for one partition: that of the first row read. The start of the span may
        // be in no partition, and the page may have no rows, if the filter rejects all of them.
        let first = self.first_read.as_ref().unwrap_or(&start);
        route.range.note(first, Access::Read, done);
        Ok(next.or_else(|| range_end.cloned()))
    }

    /// Reads rows of a range until the page ends. Then yields to a waiting scan, because the caller goes on to write
    /// the response, which takes as long as the scan.
    async fn scan(
        &mut self,
        range: &Range,
        start: Bytes,
        end: Bytes,
    ) -> Result<Option<Bytes>, Error> {
        let service = self.service;
        let mut admitted = service.storage().admission.scans.enter(&start, 1).await?;
        let next = self.scan_admitted(range, start, end, &mut admitted).await;
        admitted.hand_over().await;
        next
    }

    async fn scan_admitted(
        &mut self,
        range: &Range,
        start: Bytes,
        end: Bytes,
        admitted: &mut Admitted<'a>,
    ) -> Result<Option<Bytes>, Error> {
        let service = self.service;
        let wanted = (self.top - self.rows.len() + 1).min(CHUNK_ROWS_MAX);
        let first = start.clone();
        let mut scan = range
            .scan(KeyRange::half_open(start, end), ScanHint::page(wanted))
            .await?;
        let mut chunk_rows = wanted;
        loop {
            let room = service.storage().memory.room();
            let bytes = room.clamp(RESERVED_STEP, CHUNK_BYTES_MAX);
            let rows = scan.next(chunk_rows, bytes).await?;
            if rows.is_empty() {
                return Ok(None);
            }
            let late = self.service.clock().monotonic() >= self.deadline;
            for (key, value) in rows {
                if late {
                    return Ok(Some(key));
                }
                if let Some(next) = self.take(key, value)? {
                    return Ok(Some(next));
                }
            }
            if self.meter.charge() {
                // The next page starts at the next row, also if the filter rejects it.
                let next = scan.next(1, 1).await?;
                return Ok(next.into_iter().next().map(|(key, _)| key));
            }
            chunk_rows = CHUNK_ROWS_MAX;
            // Yields to other scans between chunks: a filter that rejects all rows reads for seconds.
            admitted.release();
            tokio::task::yield_now().await;
            *admitted = service.storage().admission.scans.enter(&first, 1).await?;
        }
    }

    /// Adds a row to the page, or returns its key if it starts the next page.
    fn take(&mut self, key: Bytes, value: Bytes) -> Result<Option<Bytes>, Error> {
        if !self.meter.may_read(&key)? {
            return Ok(Some(key));
        }
        self.rows_read += 1;
        if self.first_read.is_none() {
            self.first_read = Some(key.clone());
        }
        self.bytes_read += key.len() + value.len();
        let bytes = key.len() + value.len();
        if self.expiry.has(&value)? {
            self.meter.row(&key, bytes);
            return Ok(None);
        }
        let row = RowData { key, value };
        if let Some(residual) = self.residual
            && !residual.matches(&row.entity(self.space)?)?
        {
            self.meter.row(&row.key, bytes);
            return Ok(None);
        }
        let bytes_on_page = bytes + self.row_bytes_more;
        let full = self.rows.len() >= self.top
            || (!self.rows.is_empty()
                && self.bytes_kept + bytes_on_page > self.service.settings.page_bytes_max);
        if full {
            return Ok(Some(row.key));
        }
        match self.reserve(self.bytes_kept + bytes_on_page) {
            Ok(()) => {}
            // Ends the page: the row goes to the next page, which reserves its own memory.
            Err(_busy) if !self.rows.is_empty() => return Ok(Some(row.key)),
            Err(busy) => return Err(busy.into()),
        }
        // Charged only now, so that a row that does not fit is charged to the next page.
        self.meter.row(&row.key, bytes);
        self.bytes_kept += bytes_on_page;
        self.rows.push(match self.residual {
            // A copy: a row keeps the block that it was read from in memory, and a filter may take one row of each.
            Some(_) => RowData {
                key: Bytes::copy_from_slice(&row.key),
                value: Bytes::copy_from_slice(&row.value),
            },
            None => row,
        });
        Ok(None)
    }

    /// Reserves memory for this many bytes on the page.
    fn reserve(&mut self, bytes: usize) -> Result<(), Busy> {
        if bytes <= UNCOUNTED_BYTES {
            return Ok(());
        }
        let budget = &self.service.storage().memory;
        self.memory
            .grow_to(budget, bytes.next_multiple_of(RESERVED_STEP))
    }
}
