//! Checks the disk usage after all changes: old databases must be gone, and the files little larger than a fresh copy.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use partita_bench::client::{Client, NO_METADATA};
use partita_bench::{Account, ServerProcess, admin, create_table, park_for};

use super::start;
use crate::checkers::TABLE;
use crate::checkers::model::Key;

/// How long the ranges may take to rewrite their files and release old ones.
const DEADLINE: Duration = Duration::from_secs(300);

/// Largest ratio of the files' bytes to those of a fresh copy.
const EXCESS_MAX: f64 = 1.3;

/// The files of all ranges, compared with a fresh copy.
#[derive(Debug)]
pub(super) struct DiskUsage {
    ranges: usize,
    bytes: u64,
    fresh_bytes: u64,
    took: Duration,
}

impl DiskUsage {
    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    fn excess(&self) -> f64 {
        self.bytes as f64 / self.fresh_bytes.max(1) as f64
    }
}

impl fmt::Display for DiskUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "after {:.0} s: {} ranges, {} KiB in files, {:.2} times a fresh copy",
            self.took.as_secs_f64(),
            self.ranges,
            self.bytes >> 10,
            self.excess()
        )
    }
}

/// Waits until no range shares files, no old database is left, and the files are small enough.
///
/// # Errors
/// When that takes longer than the deadline.
pub(super) fn await_usage(
    server: &ServerProcess,
    admin: SocketAddr,
    program: &Path,
    directory: &Path,
) -> anyhow::Result<DiskUsage> {
    let fresh_bytes = fresh_copy(server, program, &directory.join("fresh-copy"))?;
    flush(admin)?;
    let began = Instant::now();
    loop {
        let now = admin::ranges(admin)?;
        let usage = DiskUsage {
            ranges: now.ranges.len(),
            bytes: file_bytes(&directory.join("store"))?,
            fresh_bytes,
            took: began.elapsed(),
        };
        let sharing = now.ranges.iter().filter(|range| range.sources > 0).count();
        let orphans = now.orphans.len();
        if sharing == 0 && orphans == 0 && usage.excess() <= EXCESS_MAX {
            return Ok(usage);
        }
        if began.elapsed() > DEADLINE {
            bail!("{usage}; {sharing} ranges share files and {orphans} old databases are left");
        }
        for range in &now.ranges {
            // The server leaves up to 4 MiB of replaced rows in each range: as much as all rows of this test take.
            if sharing == 0 && orphans == 0 {
                admin::act(admin, range.id, "compact", "")?;
            }
            // Collects now; maintenance collects once a minute.
            admin::act(admin, range.id, "collect", "")?;
        }
        park_for(Duration::from_secs(1));
    }
}

/// Copies all rows to a fresh server; returns the bytes of that server's files.
fn fresh_copy(server: &ServerProcess, program: &Path, directory: &Path) -> anyhow::Result<u64> {
    let (fresh, admin) = start(program, directory, "partita")?;
    copy_rows(server, &fresh)?;
    flush(admin)?;
    let bytes = file_bytes(&directory.join("store"))?;
    drop(fresh);
    std::fs::remove_dir_all(directory)?;
    Ok(bytes)
}

fn flush(admin: SocketAddr) -> anyhow::Result<()> {
    for range in admin::ranges(admin)?.ranges {
        admin::act(admin, range.id, "flush", "")?;
    }
    Ok(())
}

/// Bytes of the files in all `compacted` folders below a folder.
fn file_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.is_dir() {
            bytes += file_bytes(&path)?;
        } else if folder.ends_with("compacted") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// Copies the rows of the table.
fn copy_rows(from: &ServerProcess, to: &ServerProcess) -> anyhow::Result<()> {
    let mut source = Client::connect(from.addr(), Account::well_known())?;
    let mut target = Client::connect(to.addr(), Account::well_known())?;
    create_table(&mut target, TABLE)?;
    source.pages(&format!("/{TABLE}()"), NO_METADATA, |page| {
        for entity in page.entities()? {
            let text = |name: &str| entity[name].as_str().unwrap_or_default().to_owned();
            let key = Key {
                partition: text("PartitionKey"),
                row: text("RowKey"),
            };
            let answer = target.put(&key.path(), &[], entity.to_string().as_bytes())?;
            answer.expect(204).with_context(|| format!("{key:?}"))?;
        }
        Ok(())
    })
}
