//! The store whose files are damaged, the rows that it must have, and copies of it.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use partita_bench::client::{Client, Request};
use partita_bench::{
    Account, ServerProcess, admin, create_table, open_admin_port, park_for, partita_command,
};
use partita_load::Random;

use crate::setup;

/// The table that is read.
pub(super) const TABLE: &str = "damaged";

/// A table that was dropped.
pub(super) const DROPPED: &str = "dropped";

const PARTITIONS: u64 = 24;
const ROWS: u64 = 20;

/// Wait before a kill: longer than the interval in which the WAL records in its head how far it is written.
const IDLE: Duration = Duration::from_millis(1_500);

/// Values by partition key and row key.
pub(super) type Rows = BTreeMap<(String, String), String>;

/// A store after a kill.
pub(super) struct Store {
    /// Its data directory.
    pub(super) directory: PathBuf,
    /// An older copy of the directory, made while the store was being filled.
    pub(super) older: PathBuf,
    /// The rows of [`TABLE`].
    pub(super) rows: Rows,
}

/// The path of an entity.
pub(super) fn entity((partition, row): &(String, String)) -> String {
    format!("/{TABLE}(PartitionKey='{partition}',RowKey='{row}')")
}

impl Store {
    /// Builds a store in `parent`: ranges that were split and merged, a snapshot, a dropped table, overwritten and
    /// deleted rows, rows that are only in the log; killed at the end.
    pub(super) fn build(
        program: &Path,
        parent: &Path,
        account: &Account,
        random: &mut Random,
    ) -> anyhow::Result<Self> {
        let (directory, older) = (parent.join("data"), parent.join("older"));
        let mut rows = Rows::new();
        {
            let mut life = Life::start(program, &directory, account)?;
            create_table(&mut life.client, TABLE)?;
            create_table(&mut life.client, DROPPED)?;
            life.write(0..PARTITIONS, &mut rows, random)?;
            life.put(DROPPED, "p", "r", "dropped")?;
            life.split(1, "p12")?;
            life.write(0..6, &mut rows, random)?;
            life.flush()?;
            life.snapshot("first")?;
            life.write(6..9, &mut rows, random)?;
            // A stop saves the heat history.
            life.server.terminate()?;
        }
        copy_all(&directory, &older)?;
        let mut life = Life::start(program, &directory, account)?;
        life.write(4..20, &mut rows, random)?;
        life.flush()?;
        life.split_last("p18")?;
        life.split_last("p21")?;
        life.write(10..24, &mut rows, random)?;
        life.flush()?;
        life.merge_last()?;
        life.drop_table()?;
        life.delete(3, &mut rows)?;
        life.snapshot("second")?;
        life.write(0..24, &mut rows, random)?;
        life.flush()?;
        life.write(0..12, &mut rows, random)?;
        life.delete(15, &mut rows)?;
        life.kill()?;
        Ok(Self {
            directory,
            older,
            rows,
        })
    }
}

/// A running server, and a client of it.
struct Life {
    server: ServerProcess,
    admin: SocketAddr,
    client: Client,
}

impl Life {
    fn start(program: &Path, directory: &Path, account: &Account) -> anyhow::Result<Self> {
        let mut command = partita_command(program, directory);
        let admin = open_admin_port(&mut command)?;
        // Removed databases and old files are kept long, so that they can be damaged.
        command.args(["--garbage-age", "10m", "--balance", "off"]);
        let server = setup::start_command(command)?;
        let client = Client::connect(server.addr(), account.clone())?;
        Ok(Self {
            server,
            admin,
            client,
        })
    }

    /// Writes all rows of partitions, with new values.
    fn write(
        &mut self,
        partitions: std::ops::Range<u64>,
        rows: &mut Rows,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        for partition in partitions {
            for row in 0..ROWS {
                let key = (format!("p{partition:02}"), format!("r{row:02}"));
                let words = 4 + random.below(60);
                let value: String = (0..words)
                    .map(|_| format!("{:016x}", random.next_u64()))
                    .collect();
                self.put(TABLE, &key.0, &key.1, &value)?;
                rows.insert(key, value);
            }
        }
        Ok(())
    }

    fn put(&mut self, table: &str, partition: &str, row: &str, value: &str) -> anyhow::Result<()> {
        let path = format!("/{table}(PartitionKey='{partition}',RowKey='{row}')");
        let json = format!(r#"{{"V":"{value}"}}"#);
        self.client.put(&path, &[], json.as_bytes())?.expect(204)?;
        Ok(())
    }

    /// Deletes half of the rows of a partition.
    fn delete(&mut self, partition: u64, rows: &mut Rows) -> anyhow::Result<()> {
        for row in (0..ROWS).step_by(2) {
            let key = (format!("p{partition:02}"), format!("r{row:02}"));
            let path = entity(&key);
            let request = Request {
                headers: &[("If-Match", "*")],
                ..Request::new("DELETE", &path)
            };
            self.client.send(&request)?.expect(204)?;
            rows.remove(&key);
        }
        Ok(())
    }

    fn drop_table(&mut self) -> anyhow::Result<()> {
        let path = format!("/Tables('{DROPPED}')");
        self.client
            .send(&Request::new("DELETE", &path))?
            .expect(204)?;
        Ok(())
    }

    fn act(&self, range: u64, action: &str, body: &str) -> anyhow::Result<()> {
        let (status, answer) = admin::act(self.admin, range, action, body)?;
        ensure!(
            status == 200,
            "{action} of range {range}: {status} {answer}"
        );
        Ok(())
    }

    fn ranges(&self) -> anyhow::Result<Vec<u64>> {
        let ranges = admin::ranges(self.admin)?.ranges;
        Ok(ranges.iter().map(|range| range.id).collect())
    }

    fn flush(&self) -> anyhow::Result<()> {
        let mut ranges = self.ranges()?.into_iter();
        ranges.try_for_each(|range| self.act(range, "flush", ""))
    }

    fn split(&self, range: u64, partition: &str) -> anyhow::Result<()> {
        let body = format!(
            r#"{{"account":"devstoreaccount1","table":"{TABLE}","partition_key":"{partition}"}}"#
        );
        self.act(range, "split", &body)
    }

    fn split_last(&self, partition: &str) -> anyhow::Result<()> {
        let last = *self.ranges()?.last().context("no range")?;
        self.split(last, partition)
    }

    /// Merges the last range but one with the last one.
    fn merge_last(&self) -> anyhow::Result<()> {
        let ranges = self.ranges()?;
        let last = ranges.iter().rev().nth(1).context("one range")?;
        self.act(*last, "merge", "")
    }

    fn snapshot(&self, name: &str) -> anyhow::Result<()> {
        admin::act_on_snapshot(self.admin, name, "create").map(drop)
    }

    /// Kills the server, `IDLE` after its last write.
    fn kill(mut self) -> anyhow::Result<()> {
        park_for(IDLE);
        self.server.kill()
    }
}

/// The files below a directory, with their paths relative to it, in order.
pub(super) fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut pending) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(directory.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => pending.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies a directory with new files.
fn copy_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    for file in files(from)? {
        create_parent(&to.join(&file))?;
        copy_sparse(&from.join(&file), &to.join(&file))?;
    }
    Ok(())
}

/// Copies a directory. Files of the store are shared by hard links: the server replaces them and never writes into them.
pub(super) fn copy_linked(from: &Path, to: &Path) -> anyhow::Result<()> {
    for file in files(from)? {
        let (source, target) = (from.join(&file), to.join(&file));
        create_parent(&target)?;
        match file.starts_with("store") {
            true => fs::hard_link(source, target)?,
            false => copy_sparse(&source, &target)?,
        }
    }
    Ok(())
}

/// Replaces a file that may be shared.
pub(super) fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    fs::remove_file(path)?;
    write_sparse(path, content)
}

fn create_parent(path: &Path) -> anyhow::Result<()> {
    let parent = path.parent().context("a file has no folder")?;
    fs::create_dir_all(parent)?;
    Ok(())
}

fn copy_sparse(from: &Path, to: &Path) -> anyhow::Result<()> {
    write_sparse(to, &fs::read(from)?)
}

/// Writes a file without its trailing zeros: segments of the log are mostly zeros.
fn write_sparse(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let used = content
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let (used, _) = content.split_at(used);
    fs::write(path, used)?;
    let file = fs::OpenOptions::new().write(true).open(path)?;
    file.set_len(content.len() as u64)?;
    Ok(())
}
