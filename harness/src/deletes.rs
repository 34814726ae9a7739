//! `cargo harness deletes`: deleted and overwritten rows soon cost neither time nor space.
//!
//! 1. Rows are written, and all but the last 1,000 are deleted. A query for the first row must skip all deleted ones. It
//!    must take less than 50 ms again at most a minute after the last deletion.
//! 2. Rows are written three times over, and as many are written to a table that is then dropped. Within ten minutes,
//!    the data directory must shrink to 1.5 times the bytes of the rows that are left.
//! 3. After that the server must write nothing for a minute.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::batch::{self, Batch};
use partita_bench::client::{Client, Request};
use partita_bench::{Account, create_table, park_for};

use crate::setup::{self, ServerProgram, scratch};

/// Number of rows that are not deleted.
const LEFT: u64 = 1_000;

/// Rows of a partition.
const PARTITION_ROWS: u64 = 10_000;

/// Changes of one batch: the most the protocol allows.
const BATCH_ROWS: u64 = 100;

/// Maximum time of the query for the first row.
const SCAN_MAX: Duration = Duration::from_millis(50);
/// How long after the last deletion this query may still take longer.
const SCAN_DEADLINE: Duration = Duration::from_secs(60);

/// How long after the last write the data directory must have shrunk to [`SPACE_MAX`].
const SPACE_DEADLINE: Duration = Duration::from_secs(600);
/// Maximum size of the data directory, as a multiple of the bytes of the rows that are left.
const SPACE_MAX: f64 = 1.5;

/// Bytes of the text of a row in the second part.
const TEXT_BYTES: usize = 8_000;

/// How many times each row of the second part is written.
const VERSIONS: u64 = 3;

/// Time between two measurements while the test waits.
const LOOK: Duration = Duration::from_secs(1);

/// How long the server must write nothing at the end.
const SILENCE: Duration = Duration::from_secs(60);

/// Delete, overwrite and drop rows, and measure scans and space until both are as before
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Rows to write and delete
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Rows that are left after overwriting and dropping, MiB
    #[arg(long, default_value_t = 1_024)]
    mib: u64,
    #[command(flatten)]
    server: ServerProgram,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let directory = scratch("deletes")?;
    let server = setup::start(&program, directory.path())?;
    let mut user = User::connect(server.addr())?;
    println!("| | result | limit |");
    println!("| --- | ---: | ---: |");
    deletes(&mut user, arguments.rows)?;
    space(&mut user, arguments.mib, directory.path())?;
    silence(directory.path())
}

/// The first part of the test: time of a scan over deleted rows.
fn deletes(user: &mut User, rows: u64) -> anyhow::Result<()> {
    ensure!(rows > LEFT, "--rows must be more than {LEFT}");
    let table = "deleted";
    create_table(&mut user.client, table)?;
    user.change(table, 0..rows, |_| Change::Put("a short text".to_owned()))?;
    let before = user.time_to_first_row(table)?;
    println!("| query for the first of {rows} rows | {before:?} | |");
    let began = Instant::now();
    user.change(table, 0..rows - LEFT, |_| Change::Delete)?;
    let deleted = Instant::now();
    let took = deleted - began;
    println!("| {} rows deleted | in {took:?} | |", rows - LEFT);
    let first = user.time_to_first_row(table)?;
    println!("| query for the first row, at once | {first:?} | |");
    let mut slowest = first;
    let after = loop {
        let scan = user.time_to_first_row(table)?;
        slowest = slowest.max(scan);
        let after = deleted.elapsed();
        if scan <= SCAN_MAX {
            println!("| the same, {after:?} after the last deletion | {scan:?} | {SCAN_MAX:?} |");
            break after;
        }
        ensure!(
            after <= SCAN_DEADLINE * 5,
            "a scan still takes {scan:?}, {after:?} after the last deletion"
        );
        park_for(LOOK);
    };
    println!("| slowest of these queries | {slowest:?} | |");
    ensure!(
        after <= SCAN_DEADLINE,
        "scans took longer than {SCAN_MAX:?} for {after:?}"
    );
    for _ in 0..10 {
        park_for(LOOK);
        let scan = user.time_to_first_row(table)?;
        ensure!(scan <= SCAN_MAX, "a later scan took {scan:?}");
    }
    Ok(())
}

/// The second part: disk space after overwriting and dropping.
fn space(user: &mut User, mib: u64, directory: &Path) -> anyhow::Result<()> {
    let rows = (mib << 20) / TEXT_BYTES as u64;
    for table in ["overwritten", "dropped"] {
        create_table(&mut user.client, table)?;
    }
    for version in 0..VERSIONS {
        let text = |number| Change::Put(noise(number * VERSIONS + version));
        user.change("overwritten", 0..rows, text)?;
    }
    user.change("dropped", 0..rows, |number| {
        Change::Put(noise(number * VERSIONS))
    })?;
    let dropped = user
        .client
        .send(&Request::new("DELETE", "/Tables('dropped')"))?;
    dropped.expect(204)?;
    let (stopped, live) = (Instant::now(), rows as f64 * TEXT_BYTES as f64);
    let ratio = || bytes(directory) as f64 / live;
    println!(
        "| data directory when writing stops | {:.2} times the rows | |",
        ratio()
    );
    let mut most = ratio();
    let mut said = Instant::now();
    while ratio() > SPACE_MAX {
        most = most.max(ratio());
        let after = stopped.elapsed();
        ensure!(
            after <= SPACE_DEADLINE,
            "the data directory takes {:.2} times the rows, {after:?} after writing stopped",
            ratio()
        );
        if said.elapsed() >= Duration::from_secs(30) {
            eprintln!(
                "after {:.0} s the data directory takes {:.2} times the rows",
                after.as_secs_f64(),
                ratio()
            );
            said = Instant::now();
        }
        park_for(LOOK);
    }
    println!("| largest data directory | {most:.2} times the rows | |");
    let seconds = stopped.elapsed().as_secs();
    println!(
        "| data directory, {seconds} s later | {:.2} times the rows | {SPACE_MAX} |",
        ratio()
    );
    Ok(())
}

/// The third part: waits until no file has changed for the time [`SILENCE`].
fn silence(directory: &Path) -> anyhow::Result<()> {
    let (began, mut since, mut last) = (Instant::now(), Instant::now(), newest(directory));
    while since.elapsed() < SILENCE {
        ensure!(
            began.elapsed() < SPACE_DEADLINE * 2,
            "the server writes files without requests"
        );
        park_for(LOOK);
        let now = newest(directory);
        if now != last {
            (since, last) = (Instant::now(), now);
        }
    }
    let seconds = began.elapsed().as_secs();
    println!("| a minute without a write to the store | after {seconds} s | |");
    Ok(())
}

/// What to do with a row.
enum Change {
    Put(String),
    Delete,
}

/// A client that changes and queries rows.
struct User {
    client: Client,
    account: Account,
    addr: SocketAddr,
}

impl User {
    fn connect(addr: SocketAddr) -> anyhow::Result<Self> {
        let account = Account::well_known();
        Ok(Self {
            client: Client::connect(addr, account.clone())?,
            account,
            addr,
        })
    }

    /// Changes rows in batches, in key order.
    fn change(
        &mut self,
        table: &str,
        rows: std::ops::Range<u64>,
        change: impl Fn(u64) -> Change,
    ) -> anyhow::Result<()> {
        let mut first = rows.start;
        while first < rows.end {
            // All changes of a batch must be in one partition.
            let partition_end = (first / PARTITION_ROWS + 1) * PARTITION_ROWS;
            let end = rows.end.min(first + BATCH_ROWS).min(partition_end);
            let mut batch = Batch::new(&self.account, self.addr);
            for number in first..end {
                let (partition, row) = (number / PARTITION_ROWS, number);
                let path = format!("/{table}(PartitionKey='p{partition:06}',RowKey='r{row:09}')");
                match change(number) {
                    Change::Put(text) => {
                        batch.push("PUT", &path, &[], &format!("{{\"Text\":\"{text}\"}}"));
                    }
                    Change::Delete => batch.push("DELETE", &path, &[("If-Match", "*")], ""),
                }
            }
            let answer = self.client.send(&Request {
                content_type: batch::CONTENT_TYPE,
                body: batch.finish().as_bytes(),
                ..Request::new("POST", "/$batch")
            })?;
            let answer = answer.expect(202)?;
            for part in batch::parts(&answer)? {
                ensure!(part.status == 204, "a change failed: {}", part.text);
            }
            first = end;
        }
        Ok(())
    }

    /// The time of a query for one row, with all its empty pages.
    fn time_to_first_row(&mut self, table: &str) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let path = format!("/{table}()");
        let mut query = "$top=1".to_owned();
        loop {
            let page = self.client.send(&Request {
                query: &query,
                ..Request::new("GET", &path)
            })?;
            let page = page.expect(200)?;
            if !page.entities()?.is_empty() {
                return Ok(began.elapsed());
            }
            let token = page.next_page().context("the table has no rows")?;
            query = format!("$top=1&{token}");
        }
    }
}

/// A text without repetitions, different for each seed.
fn noise(seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        LETTERS.get((state >> 32) as usize % LETTERS.len())
    };
    let letters = std::iter::repeat_with(next).flatten().take(TEXT_BYTES);
    letters.copied().map(char::from).collect()
}

/// The metadata of all files below a folder. Ignores files that are deleted at the same time.
fn files(folder: &Path) -> Vec<std::fs::Metadata> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for entry in entries {
        match entry.metadata() {
            Ok(meta) if meta.is_dir() => files.extend(self::files(&entry.path())),
            Ok(meta) => files.push(meta),
            Err(_) => {}
        }
    }
    files
}

/// The bytes of all files below a folder.
fn bytes(folder: &Path) -> u64 {
    files(folder).iter().map(std::fs::Metadata::len).sum()
}

/// The time of the last change of a file in the store or in the WAL.
fn newest(directory: &Path) -> Option<std::time::SystemTime> {
    let mut found = files(&directory.join("log"));
    let ranges = std::fs::read_dir(directory.join("store")).into_iter();
    for entry in ranges.flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("range-") {
            found.extend(files(&entry.path()));
        }
    }
    found.iter().filter_map(|file| file.modified().ok()).max()
}
