//! `cargo harness diskfull`: writes, reads, snapshots and backups while the server's disk is full, on a small file
//! system in memory.
//!
//! 1. The test writes until the server refuses a write with 500 or 503.
//! 2. While the disk is full, the server answers reads and writes in time. It refuses snapshots, and it aborts a backup
//!    to the same disk, which leaves no visible snapshot and no finished backup.
//! 3. The test deletes a ballast file. The server accepts writes again, and the next snapshot and backup succeed.
//! 4. Then, and again after a kill and a restart, every acknowledged row is stored, and no row whose insert was
//!    answered with 503 ("not executed").

mod mount;
mod snapshots;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::client::Client;
use partita_bench::{
    Account, ServerProcess, create_table, open_admin_port, partita_command, project,
};
use partita_load::mix;
use serde_json::Value;

use self::mount::SmallDisk;
use self::snapshots::Snapshots;
use crate::setup::{self, ServerProgram};

/// The table of the test.
const TABLE: &str = "diskfull";

/// Size of the file system, MiB.
const DISK_MIB: u64 = 544;

/// Size of the file that is deleted to make room, MiB. More than half of the disk: a compaction writes all rows again,
/// and the snapshot and running reads still need the replaced files.
const BALLAST_MIB: u64 = 320;

/// Characters in the text of one row: many, so that the disk is full soon.
const TEXT_LEN: u64 = 24 * 1_024;

/// Rows in the snapshot that is created while the disk has room. A backup of them does not fit on the full disk.
const SNAPSHOT_ROWS: u64 = 2_000;

/// Longest time until a write is answered, also on a full disk.
const ANSWER_MAX: Duration = Duration::from_secs(35);

/// Longest time until writing resumes.
const RESUME_MAX: Duration = Duration::from_secs(60);

/// Number of consecutive refusals after which the disk counts as full.
const REFUSALS: u32 = 20;

/// Fill the server's disk, on a small file system in memory
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerProgram,
}

/// The outcome of a row's insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Acknowledged: must be stored.
    Written,
    /// Answered with 503: must not be stored.
    Refused,
    /// Answered with 500: may be stored.
    Unknown,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let disk = match SmallDisk::mount(&project::root().join("target/diskfull"), DISK_MIB) {
        Ok(disk) => disk,
        Err(reason) => {
            println!(
                "diskfull: skipped, cannot mount a file system: {reason:#}. The engine's own tests simulate a full disk"
            );
            return Ok(());
        }
    };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; (BALLAST_MIB << 20) as usize])
        .context("writing the ballast")?;
    let (data, place) = (disk.path().join("data"), disk.path().join("backups"));
    let mut command = partita_command(&program, &data);
    let admin = open_admin_port(&mut command)?;
    command.arg("--backup-place").arg(&place);
    let mut server = setup::start_command(command)?;
    let mut trial = Trial::connect(&server)?;
    let snapshots = Snapshots::new(&program, admin, &place);
    let outcome = trial.run(&snapshots, disk.path(), || {
        std::fs::remove_file(&ballast).context("deleting the ballast")
    });
    let faults = outcome.and_then(|()| trial.compare());
    faults.with_context(|| format!("the server's log:\n{}", server.log()))?;
    server.kill()?;
    let server = setup::start(&program, &data)?;
    trial.client = Client::connect(server.addr(), Account::well_known())?;
    trial.compare().context("after a kill and a restart")?;
    println!("diskfull: {}", trial.summary());
    Ok(())
}

/// The writer and its rows.
struct Trial {
    client: Client,
    rows: BTreeMap<u64, Fate>,
    slowest_answer: Duration,
    resumed_after: Duration,
}

impl Trial {
    fn connect(server: &ServerProcess) -> anyhow::Result<Self> {
        let mut client = Client::connect(server.addr(), Account::well_known())?;
        create_table(&mut client, TABLE)?;
        Ok(Self {
            client,
            rows: BTreeMap::new(),
            slowest_answer: Duration::ZERO,
            resumed_after: Duration::ZERO,
        })
    }

    fn run(
        &mut self,
        snapshots: &Snapshots,
        disk: &Path,
        make_room: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for _ in 0..SNAPSHOT_ROWS {
            let fate = self.write()?;
            ensure!(
                fate == Fate::Written,
                "the disk is full too early: {fate:?}"
            );
        }
        snapshots.before()?;
        self.fill()?;
        let rest = disk.join("rest");
        fill_up(&rest)?;
        self.fill()?;
        self.read_some(200)
            .context("reading while the disk is full")?;
        snapshots.while_full()?;
        std::fs::remove_file(rest).context("deleting the file that filled the disk")?;
        make_room()?;
        let started = Instant::now();
        while self.write()? != Fate::Written {
            ensure!(started.elapsed() < RESUME_MAX, "writing did not resume");
            self.read_some(10)?;
        }
        self.resumed_after = started.elapsed();
        for _ in 0..200 {
            let fate = self.write()?;
            ensure!(fate == Fate::Written, "a write after resuming was {fate:?}");
        }
        snapshots.after()
    }

    /// Writes until the disk stays full.
    fn fill(&mut self) -> anyhow::Result<()> {
        let enough = 4 * (DISK_MIB << 20) / TEXT_LEN;
        let mut refusals = 0;
        while refusals < REFUSALS {
            ensure!(
                self.rows.len() as u64 <= enough,
                "{enough} rows fit on a full disk"
            );
            if self.write()? == Fate::Written {
                // The server freed space, by a compaction for example.
                refusals = 0;
            } else {
                refusals += 1;
            }
        }
        Ok(())
    }

    /// Writes the next row.
    fn write(&mut self) -> anyhow::Result<Fate> {
        let number = self.rows.len() as u64;
        let body = format!(
            r#"{{"PartitionKey":"p","RowKey":"{number:08}","Text":"{}"}}"#,
            text(number)
        );
        let started = Instant::now();
        let answer = self.client.post(&format!("/{TABLE}"), &body)?;
        let took = started.elapsed();
        ensure!(
            took <= ANSWER_MAX,
            "a write was answered after {} s",
            took.as_secs()
        );
        self.slowest_answer = self.slowest_answer.max(took);
        let fate = match answer.status {
            204 => Fate::Written,
            503 => Fate::Refused,
            500 => Fate::Unknown,
            status => bail!("a write was answered with {status}: {}", answer.text()),
        };
        self.rows.insert(number, fate);
        Ok(fate)
    }

    /// Reads `count` rows, chosen among all rows, and checks those whose writes were acknowledged.
    fn read_some(&mut self, count: u64) -> anyhow::Result<()> {
        let rows = self.rows.len() as u64;
        for index in 0..count {
            let number = mix(index) % rows;
            if self.rows.get(&number) == Some(&Fate::Written) {
                check_row(&mut self.client, number, Fate::Written)?;
            }
        }
        Ok(())
    }

    /// Reads every row and compares it with its fate.
    fn compare(&mut self) -> anyhow::Result<()> {
        for (&number, &fate) in &self.rows {
            check_row(&mut self.client, number, fate)?;
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let count = |fate| self.rows.values().filter(|other| **other == fate).count();
        format!(
            "{} rows written, {} refused (503), {} unknown (500); reads went on, a snapshot was refused and a backup aborted; slowest \
             answer {} ms, writing resumed {} ms after there was room, nothing lost",
            count(Fate::Written),
            count(Fate::Refused),
            count(Fate::Unknown),
            self.slowest_answer.as_millis(),
            self.resumed_after.as_millis()
        )
    }
}

/// Reads a row and compares it with its fate.
fn check_row(client: &mut Client, number: u64, fate: Fate) -> anyhow::Result<()> {
    let answer = client.get(&format!("/{TABLE}(PartitionKey='p',RowKey='{number:08}')"))?;
    match (fate, answer.status) {
        (Fate::Written | Fate::Unknown, 200) => {
            let entity: Value = serde_json::from_slice(&answer.body)?;
            let is_same = entity["Text"] == text(number);
            ensure!(is_same, "row {number} has another text");
        }
        (Fate::Refused | Fate::Unknown, 404) => {}
        (_, status) => bail!("row {number} was {fate:?}, reading it gives {status}"),
    }
    Ok(())
}

/// Writes a file until its disk is full.
fn fill_up(path: &Path) -> anyhow::Result<()> {
    let mut file = std::fs::File::create(path).context("filling the disk")?;
    let piece = vec![0; 64 << 10];
    loop {
        match file.write(&piece) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
            Err(error) => return Err(error).context("filling the disk"),
        }
    }
}

/// The text of a row: hexadecimal, so that compression saves half at most.
fn text(number: u64) -> String {
    (0..TEXT_LEN / 16).fold(String::new(), |text, word| {
        text + &format!("{:016x}", mix((number << 20) + word))
    })
}
