//! Measures the cost of targets and admission on this machine, in nanoseconds per request:
//! `cargo run --release -p partita-table --example targets_cost`.
//!
//! Runs point reads, inserts and pages on the engine in memory, without targets, with targets that are never reached,
//! and with half of these, as one of two servers of a cluster. Each figure is the best of several rounds.
#![allow(clippy::print_stdout, reason = "a measurement prints")]

use partita_cluster::{Epoch, PartitionMap, Served, TargetLoad as _};
use partita_engine::memory::MemoryEngine;
use partita_model::{AccountName, PropertiesBuilder, TableName, ValueRef};
use partita_range::{Bounds, Range, RangeId};
use partita_rt::SystemClock;
use partita_service::{Rates, Storage, Targets};
use partita_table::{Change, Query, Service, ServiceSettings, Table, TableTargets, TargetSettings};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 30;
const REQUESTS: usize = 20_000;
const ROWS: usize = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        for (name, targets, in_cluster) in [
            ("off", TargetSettings::default(), false),
            ("on", unreachable(), false),
            ("shared", unreachable(), true),
        ] {
            let (service, table) = service(targets, in_cluster).await?;
            let mut best = [f64::INFINITY; 3];
            for round in 0..ROUNDS {
                let times = round_of(&service, &table, round).await?;
                for (best, time) in best.iter_mut().zip(times) {
                    *best = best.min(time);
                }
            }
            let [read, insert, page] = best;
            println!(
                "targets {name:>6}: {read:>5.0} ns per read, {insert:>5.0} ns per insert, {page:>8.0} ns per page of \
                 1,000 rows"
            );
        }
        Ok(())
    })
}

/// Returns the nanoseconds of a read, an insert and a page.
async fn round_of(
    service: &Service,
    table: &Table,
    round: usize,
) -> Result<[f64; 3], Box<dyn Error>> {
    let start = Instant::now();
    for at in 0..REQUESTS {
        let (partition, row) = (at % 10, at / 10 % (ROWS / 10));
        let (partition, row) = (format!("p{partition}"), format!("{row:06}"));
        black_box(service.entity(table, &partition, &row).await?);
    }
    let read = start.elapsed().as_nanos() as f64 / REQUESTS as f64;
    let start = Instant::now();
    for at in 0..REQUESTS {
        let change = insert(at % 10, ROWS + round * REQUESTS + at);
        black_box(service.change_entity(table, change).await?);
    }
    let insert = start.elapsed().as_nanos() as f64 / REQUESTS as f64;
    let start = Instant::now();
    let pages = REQUESTS / 1_000;
    for _ in 0..pages {
        let query = Query {
            filter: None,
            top: 1_000,
            from: None,
            allowed: None,
            row_bytes_more: 0,
        };
        black_box(service.query_entities(table, query).await?);
    }
    Ok([
        read,
        insert,
        start.elapsed().as_nanos() as f64 / pages as f64,
    ])
}

fn insert(partition: usize, row: usize) -> Change {
    let mut properties = PropertiesBuilder::new(16);
    let pushed = properties.push("n", ValueRef::Int32(7));
    assert!(pushed.is_ok(), "one property is within the limit");
    Change::insert(
        format!("p{partition}"),
        format!("{row:06}"),
        properties.finish(),
    )
}

/// Targets that this load never reaches.
fn unreachable() -> TargetSettings {
    let rates = Rates::entities(u32::MAX);
    TargetSettings {
        tables: TableTargets {
            partition: rates,
            table: rates,
        },
        account: rates,
        ..TargetSettings::default()
    }
}

async fn service(
    targets: TargetSettings,
    in_cluster: bool,
) -> Result<(Service, Arc<Table>), Box<dyn Error>> {
    let engine = Arc::new(MemoryEngine::new());
    let range = Range::new(RangeId(1), Bounds::all(), engine, Arc::default());
    let served = Served {
        tenure: 0,
        epoch: Epoch(1),
        range: Arc::new(range),
    };
    let map = Arc::new(PartitionMap::new(vec![served])?);
    let mut storage = Storage::new(map, Arc::new(SystemClock));
    if in_cluster {
        let now = Instant::now();
        let shared = Targets::new(targets.account, now).in_cluster(Arc::new(|_| 2));
        shared.set_shares(now, &[]);
        storage = storage.with_shared_targets(Arc::new(shared));
    } else if !targets.is_off() {
        storage = storage.with_targets(targets.account);
    }
    let service = Service::new(Arc::new(storage), ServiceSettings::default(), targets);
    let (account, name) = (AccountName::new("account")?, TableName::new("Cost")?);
    service.create_table(&account, &name).await?;
    let table = service.table(&account, &name).await?;
    for row in 0..ROWS {
        let change = insert(row % 10, row / 10);
        service.change_entity(&table, change).await?;
    }
    Ok((service, table))
}
