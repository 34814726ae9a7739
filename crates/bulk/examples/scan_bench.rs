//! Measures how fast a table is read over HTTP: rows and requests per second by strategy and number of jobs, directly
//! or through a proxy that adds latency.
//!
//! ```text
//! partita serve --location /tmp/bench &
//! cargo run --release -p partita-bulk --example scan_bench -- load=yes rows=1000000 partitions=100000
//! cargo run --release -p partita-bulk --example scan_bench -- rows=1000000 partitions=100000 round_trip_ms=10
//! ```
//!
//! | argument | meaning | default |
//! | --- | --- | --- |
//! | `connection=STRING` | connection string of the server | `UseDevelopmentStorage=true` |
//! | `table=NAME` | the table to read | `scanbench` |
//! | `load=yes` | create and fill the table first | `no` |
//! | `rows=N`, `partitions=N` | size of the table; rows have 1 KiB, PartitionKeys are pseudorandom | 20,000; 2,000 |
//! | `jobs=1,4,16` | numbers of parallel requests to measure | 1,4,16 |
//! | `round_trip_ms=N` | latency that the proxy adds; 0 for no proxy | 0 |
//!
//! The strategy `ranges` gets the split points that a server with sixteen equal ranges would have.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use partita_bulk::scan::{Bounds, Order, Query, QueryOptions, RunOptions, Scan, Strategy, Tokens};
use partita_bulk::source::{TableSource, Traffic};
use partita_client::{
    ClientOptions, ConnectionString, Endpoint, Entity, TableClient, TableServiceClient,
    TransactionAction, UpdateMode,
};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Number of ranges that the server is assumed to have.
const RANGES: usize = 16;
/// Number of parallel transactions while the table is filled.
const LOADERS: usize = 16;
/// Length of the text that fills a row up to 1 KiB, in bytes.
const FILLER_BYTES: usize = 900;

struct Setup {
    connection: ConnectionString,
    table: String,
    rows: u64,
    partitions: u64,
    jobs: Vec<usize>,
    round_trip: Duration,
    load: bool,
}

impl Setup {
    fn read() -> Result<Self, Failure> {
        let words: HashMap<String, String> = std::env::args()
            .skip(1)
            .filter_map(|word| {
                let (name, value) = word.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            })
            .collect();
        let word = |name: &str, default: &str| {
            words
                .get(name)
                .map_or_else(|| default.to_owned(), String::clone)
        };
        let jobs: Result<_, _> = word("jobs", "1,4,16").split(',').map(str::parse).collect();
        Ok(Self {
            connection: ConnectionString::parse(&word("connection", "UseDevelopmentStorage=true"))?,
            table: word("table", "scanbench"),
            rows: word("rows", "20000").parse()?,
            partitions: word("partitions", "2000").parse()?,
            jobs: jobs?,
            round_trip: Duration::from_millis(word("round_trip_ms", "0").parse()?),
            load: word("load", "no") == "yes",
        })
    }

    fn key(&self, partition: u64) -> String {
        // A pseudorandom key, the same in every run.
        let scattered = partition
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
        format!("{scattered:016x}")
    }

    fn split_points(&self) -> Vec<String> {
        let mut keys: Vec<_> = (0..self.partitions)
            .map(|number| self.key(number))
            .collect();
        keys.sort_unstable();
        let piece = keys.len().div_ceil(RANGES);
        keys.into_iter().step_by(piece.max(1)).skip(1).collect()
    }

    fn client(&self, endpoint: Endpoint, traffic: &Arc<Traffic>) -> Result<TableClient, Failure> {
        let options = ClientOptions {
            observer: Some(Arc::<Traffic>::clone(traffic)),
            ..ClientOptions::default()
        };
        let credential = self.connection.credential.clone();
        let service = TableServiceClient::new(endpoint, credential, options)?;
        Ok(service.table_client(&self.table))
    }
}

async fn load(setup: &Setup, table: &TableClient) -> Result<(), Failure> {
    table.create().await?;
    let begin = Instant::now();
    let mut running: JoinSet<partita_client::Result<()>> = JoinSet::new();
    let in_partition = setup.rows.div_ceil(setup.partitions);
    for number in 0..setup.partitions {
        if running.len() >= LOADERS
            && let Some(done) = running.join_next().await
        {
            done??;
        }
        let (table, key) = (table.clone(), setup.key(number));
        running.spawn(async move {
            let filler = "x".repeat(FILLER_BYTES);
            let rows: Vec<_> = (0..in_partition).collect();
            for chunk in rows.chunks(100) {
                let actions = chunk.iter().map(|row| {
                    let mut entity = Entity::new(&key, format!("{row:06}"));
                    entity.insert("Number", *row as i64);
                    entity.insert("Filler", filler.as_str());
                    TransactionAction::Upsert(entity, UpdateMode::Replace)
                });
                let actions: Vec<_> = actions.collect();
                table.submit_transaction(&actions).await?;
            }
            Ok(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    println!("loaded in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Reads the table with one strategy, order and number of jobs, and prints a row of the result table.
async fn measure(
    setup: &Setup,
    endpoint: &Endpoint,
    (name, strategy, order): (&str, Strategy, Order),
    jobs: usize,
) -> Result<(), Failure> {
    let traffic = Arc::new(Traffic::default());
    let table = setup.client(endpoint.clone(), &traffic)?;
    let query = Query::new(QueryOptions {
        tokens: Tokens::NextRow,
        ..QueryOptions::default()
    })?;
    let steps = strategy.plan(&Bounds::default(), &setup.split_points(), jobs);
    let options = RunOptions { jobs, order };
    let begin = Instant::now();
    let mut scan = Scan::new(Arc::new(TableSource(table)), query, steps, options);
    let mut rows = 0_usize;
    while let Some(batch) = scan.next().await {
        rows += batch?.rows.len();
    }
    let seconds = begin.elapsed().as_secs_f64();
    let counts = traffic.counts();
    println!(
        "| {name} | {jobs} | {rows} | {} | {seconds:.2} | {:.0} | {:.0} | {:.1} |",
        counts.requests,
        rows as f64 / seconds,
        counts.requests as f64 / seconds,
        counts.bytes as f64 / seconds / f64::from(1 << 20),
    );
    Ok(())
}

/// A proxy in front of the server. It delays all data by half a round trip in each direction, without limiting the
/// bandwidth.
async fn distant(to: String, round_trip: Duration, tasks: &mut JoinSet<()>) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tasks.spawn(async move {
        let mut pumps = JoinSet::new();
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(&to).await else {
                continue;
            };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let (near_read, near_write) = near.into_split();
            let (far_read, far_write) = far.into_split();
            pumps.spawn(pump(near_read, far_write, round_trip / 2));
            pumps.spawn(pump(far_read, near_write, round_trip / 2));
        }
    });
    Ok(port)
}

/// Forwards bytes after a delay. The delayed bytes wait in a queue of at most 1,024 pieces of 64 KiB.
async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    delay: Duration,
) {
    let (queue, mut pieces) = mpsc::channel::<(tokio::time::Instant, Vec<u8>)>(1024);
    let read = async move {
        loop {
            let mut piece = vec![0; 64 << 10];
            let Ok(length @ 1..) = from.read(&mut piece).await else {
                return;
            };
            piece.truncate(length);
            let due = tokio::time::Instant::now() + delay;
            if queue.send((due, piece)).await.is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, piece)) = pieces.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let setup = Setup::read()?;
    let near = setup.connection.endpoint.clone();
    if setup.load {
        load(&setup, &setup.client(near.clone(), &Arc::default())?).await?;
    }
    let mut tasks = JoinSet::new();
    let endpoint = if setup.round_trip.is_zero() {
        near
    } else {
        let url = near.to_string();
        let rest = url
            .strip_prefix("http://")
            .ok_or("the proxy supports only plain HTTP")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let port = distant(authority.to_owned(), setup.round_trip, &mut tasks).await?;
        Endpoint::parse(&format!("http://127.0.0.1:{port}/{path}"))?
    };
    println!(
        "{} rows in {} partitions, {} ms added to each round trip",
        setup.rows,
        setup.partitions,
        setup.round_trip.as_millis()
    );
    println!("| strategy | jobs | rows | requests | seconds | rows/s | requests/s | MiB/s |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    measure(
        &setup,
        &endpoint,
        ("serial", Strategy::Serial, Order::Table),
        1,
    )
    .await?;
    for way in [
        ("prefix", Strategy::Prefix, Order::Any),
        ("prefix, in order", Strategy::Prefix, Order::Table),
        ("ranges", Strategy::Ranges, Order::Any),
        ("ranges, in order", Strategy::Ranges, Order::Table),
    ] {
        for &jobs in &setup.jobs {
            measure(&setup, &endpoint, way, jobs).await?;
        }
    }
    Ok(())
}
