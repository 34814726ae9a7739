//! Snapshots and backups by commands: refused or aborted with a reason while the disk is full, and successful on the
//! next try when there is room again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// The snapshot that is created while the disk has room.
const BEFORE: &str = "before";
/// The snapshot that is refused while the disk is full.
const FULL: &str = "full";

/// The commands, and the place of the backup.
pub(super) struct Snapshots {
    program: PathBuf,
    admin: String,
    backup: PathBuf,
}

impl Snapshots {
    /// The commands run `program` against the server with the admin port `admin`. Backups go to `place`, on the same
    /// disk.
    pub(super) fn new(program: &Path, admin: SocketAddr, place: &Path) -> Self {
        Self {
            program: program.to_owned(),
            admin: format!("http://{admin}"),
            backup: place.join(BEFORE),
        }
    }

    /// Creates a snapshot before the disk is full.
    pub(super) fn before(&self) -> anyhow::Result<()> {
        self.done(&["snapshot", "create", BEFORE])?;
        Ok(())
    }

    /// Checks that snapshots and backups fail while the disk is full.
    pub(super) fn while_full(&self) -> anyhow::Result<()> {
        let refused = self.refused(&["snapshot", "create", FULL])?;
        // Either the WAL or the databases run out of space first.
        ensure!(
            ["disk_full", "backlogged"]
                .iter()
                .any(|why| refused.contains(&format!("refuses writes now: {why}"))),
            "a snapshot on a full disk: {refused}"
        );
        self.is_only(BEFORE)?;
        let aborted = self.refused(&self.backing_up())?;
        ensure!(
            aborted.contains("is not finished") && aborted.contains("No space left"),
            "a backup on a full disk: {aborted}"
        );
        let unfinished = self.refused(&["backup", "verify", self.place()])?;
        ensure!(
            unfinished.contains("no complete backup found"),
            "an aborted backup: {unfinished}"
        );
        self.is_only(BEFORE)
    }

    /// Checks that snapshots and backups succeed once the disk has room again.
    pub(super) fn after(&self) -> anyhow::Result<()> {
        self.done(&["snapshot", "create", FULL])?;
        self.done(&self.backing_up())?;
        let verify = ["backup", "verify", self.place(), "--output", "json"];
        let verified: Value = serde_json::from_str(&self.done(&verify)?)?;
        // The result has two lists: findings about files of the backup, and untracked files. Both must be empty.
        let mut lists = verified.as_object().into_iter().flatten();
        let is_clean = lists.all(|(_, list)| list.as_array().is_none_or(Vec::is_empty));
        ensure!(
            is_clean && verified["rows"].as_u64() > Some(0),
            "the backup after its second try: {verified}"
        );
        for name in [BEFORE, FULL] {
            self.done(&["snapshot", "delete", name, "--yes"])?;
        }
        std::fs::remove_dir_all(&self.backup).context("deleting the backup")
    }

    fn place(&self) -> &str {
        self.backup.to_str().unwrap_or_default()
    }

    fn backing_up(&self) -> [&str; 4] {
        ["backup", BEFORE, "--to", self.place()]
    }

    /// Checks that exactly one snapshot exists, with this name.
    fn is_only(&self, name: &str) -> anyhow::Result<()> {
        let listed = self.done(&["snapshot", "list", "--output", "json"])?;
        let listed: Value = serde_json::from_str(&listed)?;
        let snapshots = listed["snapshots"].as_array().into_iter().flatten();
        let names: Vec<_> = snapshots.map(|snapshot| &snapshot["name"]).collect();
        ensure!(names == [name], "snapshots on a full disk: {names:?}");
        Ok(())
    }

    /// Runs a command that must succeed; returns its stdout.
    fn done(&self, words: &[&str]) -> anyhow::Result<String> {
        let (stdout, _) = self.run(words, 0)?;
        Ok(stdout)
    }

    /// Runs a command that must fail; returns its stderr.
    fn refused(&self, words: &[&str]) -> anyhow::Result<String> {
        let (_, stderr) = self.run(words, 2)?;
        Ok(stderr)
    }

    /// Runs a command that must end with this code; returns stdout and stderr.
    fn run(&self, words: &[&str], code: i32) -> anyhow::Result<(String, String)> {
        let mut command = Command::new(&self.program);
        command.args(words).env("PARTITA_ADMIN", &self.admin);
        let output = command.output().context("starting a command")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        ensure!(
            output.status.code() == Some(code),
            "{}: {}, {stderr}",
            words.join(" "),
            output.status
        );
        Ok((stdout, stderr))
    }
}
