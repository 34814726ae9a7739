//! Tests of running scans, whose requests end in any order, fail, hang and are dropped.

use super::{MemoryRow, MemoryTable, query, row, sort, table};
use crate::scan::{
    Batch, Bounds, Frontier, FrontierOptions, Order, Page, PageRequest, PageSource,
    PartitionCounts, Query, RunOptions, Scan, ScanError, SourceError, Step, Strategy, execute,
};
use futures::FutureExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// The rows of 64 partitions: 16 prefixes of two characters, and 1 to 4 rows in each partition.
fn rows() -> Vec<MemoryRow> {
    let mut rows = Vec::new();
    for key in 0..64 {
        let partition_key = format!("{:x}{:x}{key}", key % 4, key / 4 % 4);
        for row_key in 0..=key % 4 {
            rows.push(row(&partition_key, &row_key.to_string()));
        }
    }
    sort(&mut rows);
    rows
}

/// A table that sometimes answers later requests first, and fails every `fails_each`th request.
struct Uneven {
    table: MemoryTable,
    asked: AtomicUsize,
    fails_each: usize,
}

impl Uneven {
    fn new(fails_each: usize) -> Arc<Self> {
        Arc::new(Self {
            table: MemoryTable::new(rows(), 7),
            asked: AtomicUsize::new(0),
            fails_each,
        })
    }
}

impl PageSource for Uneven {
    type Row = MemoryRow;

    async fn page(&self, request: PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        for _ in 0..number * 7 % 5 {
            tokio::task::yield_now().await;
        }
        if number.is_multiple_of(self.fails_each) {
            return Err("no answer".into());
        }
        self.table.answer(&request)
    }
}

fn small_pages() -> Query {
    query(|options| options.page_rows = 3)
}

fn begin() -> Vec<Step> {
    Strategy::Prefix.plan(&Bounds::default(), &[], 4)
}

fn scan(source: &Arc<Uneven>, steps: Vec<Step>, order: Order) -> Scan<Uneven> {
    let options = RunOptions { jobs: 4, order };
    Scan::new(Arc::clone(source), small_pages(), steps, options)
}

/// Reads the rest of a scan. Returns the rows and the number of failures.
async fn collect(mut scan: Scan<Uneven>) -> (Vec<MemoryRow>, usize) {
    let (mut found, mut failures) = (Vec::new(), 0);
    while let Some(batch) = scan.next().await {
        match batch {
            Ok(batch) => found.extend(batch.rows),
            Err(ScanError::Page(error)) => {
                assert_eq!(error.to_string(), "no answer");
                failures += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(scan.progress().rows, found.len());
    (found, failures)
}

#[tokio::test]
async fn four_jobs_return_the_same_rows_as_one() {
    let source = Uneven::new(usize::MAX);
    let (found, _) = collect(scan(&source, begin(), Order::Table)).await;
    assert_eq!(found, rows());
    let (mut found, _) = collect(scan(&source, begin(), Order::Any)).await;
    assert_ne!(
        found,
        rows(),
        "the batches arrived in the table's order by chance"
    );
    sort(&mut found);
    assert_eq!(found, rows());
}

#[tokio::test]
async fn a_failed_step_is_retried_without_losing_rows() {
    for order in [Order::Table, Order::Any] {
        let source = Uneven::new(3);
        let (mut found, failures) = collect(scan(&source, begin(), order)).await;
        sort(&mut found);
        assert_eq!(found, rows());
        assert_eq!(failures, source.asked.load(Ordering::Relaxed) / 3);
    }
}

#[tokio::test]
async fn a_scan_resumes_after_every_batch() {
    for order in [Order::Table, Order::Any] {
        let source = Uneven::new(usize::MAX);
        let mut whole = scan(&source, begin(), order);
        let mut found = Vec::new();
        while let Some(batch) = whole.next().await {
            found.extend(batch.unwrap().rows);
            let steps = whole.token().into_steps(&small_pages()).unwrap();
            let (rest, _) = collect(scan(&source, steps, order)).await;
            let mut all = [found.clone(), rest].concat();
            if order == Order::Any {
                sort(&mut all);
            }
            assert_eq!(all, rows());
        }
        assert_eq!(whole.token().into_steps(&small_pages()), Ok(Vec::new()));
    }
}

#[tokio::test]
async fn next_can_be_cancelled() {
    let source = Uneven::new(usize::MAX);
    let mut scan = scan(&source, begin(), Order::Table);
    let mut found: Vec<MemoryRow> = Vec::new();
    loop {
        match scan.next().now_or_never() {
            Some(Some(batch)) => found.extend(batch.unwrap().rows),
            Some(None) => break,
            None => tokio::task::yield_now().await,
        }
    }
    assert_eq!(found, rows());
}

#[tokio::test]
async fn partitions_are_counted_across_batches_and_a_resumption() {
    let source = Uneven::new(usize::MAX);
    let mut first = scan(&source, begin(), Order::Table);
    let (mut counts, mut counted) = (PartitionCounts::default(), Vec::new());
    for _ in 0..7 {
        counted.extend(counts.add(&first.next().await.unwrap().unwrap()));
    }
    let stored = serde_json::to_string(&counts).unwrap();
    let mut counts: PartitionCounts = serde_json::from_str(&stored).unwrap();
    let steps = first.token().into_steps(&small_pages()).unwrap();
    drop(first);
    let mut second = scan(&source, steps, Order::Table);
    while let Some(batch) = second.next().await {
        counted.extend(counts.add(&batch.unwrap()));
    }
    counted.extend(counts.finish());
    let counted: Vec<_> = counted
        .iter()
        .map(|count| (&*count.partition_key, count.rows))
        .collect();
    let rows = rows();
    let partitions = rows.chunk_by(|a, b| a.partition_key == b.partition_key);
    let expected: Vec<_> = partitions
        .map(|rows| (&*rows[0].partition_key, rows.len() as u64))
        .collect();
    assert_eq!(counted, expected);
}

/// A table that never answers, and reports when a request is dropped.
struct Silent(mpsc::Sender<&'static str>);

struct Waiting(mpsc::Sender<&'static str>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.try_send("given up");
    }
}

impl PageSource for Silent {
    type Row = MemoryRow;

    async fn page(&self, _: PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        let _waiting = Waiting(self.0.clone());
        let _ = self.0.send("asked").await;
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_dropped_scan_cancels_its_requests() {
    let (sender, mut events) = mpsc::channel(10);
    let options = RunOptions {
        jobs: 2,
        ..RunOptions::default()
    };
    let steps = Strategy::Ranges.plan(&Bounds::default(), &["m".to_owned()], 2);
    let mut scan = Scan::new(Arc::new(Silent(sender)), small_pages(), steps, options);
    assert!(scan.next().now_or_never().is_none());
    for _ in 0..2 {
        assert_eq!(events.recv().await, Some("asked"));
    }
    drop(scan);
    for _ in 0..2 {
        assert_eq!(events.recv().await, Some("given up"));
    }
    assert_eq!(events.recv().await, None);
}

#[tokio::test]
async fn an_empty_table_ends_at_once() {
    let source = Arc::new(table(&[], 1));
    let mut scan = Scan::new(source, small_pages(), begin(), RunOptions::default());
    let batch: Option<Result<Batch<MemoryRow>, ScanError>> = scan.next().await;
    assert!(batch.is_none());
    assert_eq!(scan.progress().queries, 1);
}

#[tokio::test]
async fn progress_counts_empty_pages_but_not_failed_ones() {
    let nothing = query(|options| options.filter = Some("RowKey eq 'none'".to_owned()));
    let source = Uneven::new(usize::MAX);
    let mut scan = Scan::new(source, nothing, begin(), RunOptions::default());
    while let Some(batch) = scan.next().await {
        assert_eq!(batch.unwrap().rows, []);
    }
    let progress = scan.progress();
    assert!(progress.pages > 1 && progress.rows == 0, "{progress:?}");

    let silent = Uneven::new(1);
    let mut scan = Scan::new(silent, small_pages(), begin(), RunOptions::default());
    assert!(scan.next().await.unwrap().is_err());
    let progress = scan.progress();
    assert_eq!((progress.queries, progress.pages), (1, 0));
}

/// The number of open steps stays small. Breadth-first order alone would leave a step open for nearly every row.
#[test]
fn a_scan_in_any_order_has_few_open_steps() {
    let (jobs, characters) = (2, 3);
    let mut rows = Vec::new();
    for key in 0..0x800 {
        rows.push(row(&format!("{key:03x}"), ""));
    }
    let table = MemoryTable::new(rows, 1000);
    let query = query(|options| options.page_rows = 1);
    let options = FrontierOptions {
        order: Order::Any,
        jobs,
        step_rows_max: query.options().page_rows,
        buffer_rows_max: 0,
    };
    let mut frontier = Frontier::new(begin(), options);
    let (mut found, mut open_max) = (0, 0);
    while !frontier.is_done() {
        let running: Vec<_> = std::iter::from_fn(|| frontier.start()).collect();
        for step in running {
            let result = execute(&table, &query, &step).now_or_never().unwrap();
            frontier.finish(step.id(), result);
            found += frontier.take().map_or(0, |batch| batch.rows.len());
        }
        open_max = open_max.max(frontier.open_steps().len());
    }
    assert_eq!(found, 0x800);
    let most = jobs * (8 + 2 * characters + 2);
    assert!(open_max <= most, "{open_max} of {most}");
}
