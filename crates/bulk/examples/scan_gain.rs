//! Compares the strategies of a scan: prints requests, rows and time for synthetic tables, by strategy and number of
//! jobs.
//!
//! Run with `cargo run --release -p partita-bulk --example scan_gain`. The table is in memory and time is simulated: a
//! request takes a round trip plus a fixed time per row. So the figures are the same on every machine, but do not show
//! how fast a real server is.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../src/scan/tests/memory.rs"]
mod memory;

use memory::{MemoryRow, MemoryTable};
use partita_bulk::scan::{
    Bounds, Emit, Keyed, Order, Page, PageRequest, PageSource, Query, QueryOptions, RunOptions,
    Scan, SourceError, Strategy, Tokens,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The simulated time of a request, without its rows.
const ROUND_TRIP: Duration = Duration::from_millis(10);
/// The simulated time of each row in an answer.
const ROW: Duration = Duration::from_micros(20);
/// The numbers of parallel requests to measure.
const JOBS: [usize; 5] = [1, 2, 4, 8, 16];

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A table whose requests take a simulated time.
struct Distant(MemoryTable);

impl PageSource for Distant {
    type Row = MemoryRow;

    async fn page(&self, request: PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        let page = self.0.answer(&request)?;
        let rows = u32::try_from(page.rows.len())?;
        tokio::time::sleep(ROUND_TRIP + ROW * rows).await;
        Ok(page)
    }
}

/// A strategy and its options, to compare with others.
struct Way {
    name: &'static str,
    strategy: Strategy,
    order: Order,
    options: QueryOptions,
}

fn ways() -> Vec<Way> {
    let way = |name, strategy, order, tokens, emit| Way {
        name,
        strategy,
        order,
        options: QueryOptions {
            tokens,
            emit,
            ..QueryOptions::default()
        },
    };
    let (opaque, next_row) = (Tokens::Opaque, Tokens::NextRow);
    let (every, first) = (Emit::EveryRow, Emit::FirstOfPartition);
    vec![
        way("serial", Strategy::Serial, Order::Table, opaque, every),
        way("prefix", Strategy::Prefix, Order::Any, opaque, every),
        way(
            "prefix, in order",
            Strategy::Prefix,
            Order::Table,
            opaque,
            every,
        ),
        way(
            "prefix, tokens read",
            Strategy::Prefix,
            Order::Any,
            next_row,
            every,
        ),
        way("ranges", Strategy::Ranges, Order::Any, opaque, every),
        way(
            "keys, serial",
            Strategy::Serial,
            Order::Table,
            opaque,
            first,
        ),
        way(
            "keys, prefix",
            Strategy::Prefix,
            Order::Any,
            next_row,
            first,
        ),
    ]
}

fn table(partitions: u64, rows: u64, key: impl Fn(u64) -> String) -> Arc<Distant> {
    let keys = (0..partitions).map(key);
    let rows = keys.flat_map(|key| {
        (0..rows).map(move |row| MemoryRow {
            partition_key: key.clone(),
            row_key: format!("{row:06}"),
            ..MemoryRow::default()
        })
    });
    Arc::new(Distant(MemoryTable::new(rows.collect(), usize::MAX)))
}

/// A pseudorandom number, the same in every run.
fn scattered(number: u64) -> u64 {
    number
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn tables() -> Vec<(&'static str, Arc<Distant>)> {
    let hash = |number| format!("{:016x}", scattered(number));
    let customer = |number| format!("customer-{number:06}");
    vec![
        (
            "200,000 partitions of 1 row, scattered keys",
            table(200_000, 1, hash),
        ),
        (
            "20,000 partitions of 10 rows, consecutive keys",
            table(20_000, 10, customer),
        ),
        ("100 partitions of 2,000 rows", table(100, 2_000, customer)),
        ("1 partition of 200,000 rows", table(1, 200_000, customer)),
    ]
}

async fn measure(source: &Arc<Distant>, way: &Way, jobs: usize) -> Result<(), Failure> {
    let rows = source.0.rows();
    let pieces = rows.chunks(rows.len().div_ceil(16));
    let split_points: Vec<_> = pieces
        .skip(1)
        .map(|piece| piece[0].partition_key.clone())
        .collect();
    let steps = way.strategy.plan(&Bounds::default(), &split_points, jobs);
    let run = RunOptions {
        jobs,
        order: way.order,
    };
    let query = Query::new(way.options.clone())?;
    let begin = Instant::now();
    let mut scan = Scan::new(Arc::clone(source), query, steps, run);
    let mut token_bytes_max = 0;
    while let Some(batch) = scan.next().await {
        batch?;
        token_bytes_max = token_bytes_max.max(scan.token().to_string().len());
    }
    let seconds = begin.elapsed().as_secs_f64();
    let progress = scan.progress();
    println!(
        "  {:<22} {jobs:>4} {:>8} {:>8} {seconds:>8.2} {:>10.0} {token_bytes_max:>12}",
        way.name,
        progress.queries,
        progress.rows,
        progress.rows as f64 / seconds,
    );
    Ok(())
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Failure> {
    for (name, source) in tables() {
        println!("{name}");
        println!(
            "  strategy               jobs requests     rows  seconds     rows/s  token bytes"
        );
        for way in ways() {
            let parallel = way.strategy != Strategy::Serial;
            for jobs in JOBS.into_iter().filter(|&jobs| parallel || jobs == 1) {
                measure(&source, &way, jobs).await?;
            }
        }
    }
    Ok(())
}
