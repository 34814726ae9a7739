//! Snapshots and backups while the disk is full: refused or broken off with a reason, nothing half-made to be seen, and done when asked
//! again once there is room. Asked for by the verbs, as an operator does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// The snapshot that is taken while there is room.
const BEFORE: &str = "before";
/// The one that is tried when there is none.
const FULL: &str = "full";

/// The verbs, and where the backup is to go.
pub(super) struct Snapshots {
    program: PathBuf,
    admin: String,
    backup: PathBuf,
}

impl Snapshots {
    /// Verbs of that program, for the server with that admin port; backups go into a place on the same disk.
    pub(super) fn new(program: &Path, admin: SocketAddr, place: &Path) -> Self {
        Self {
            program: program.to_owned(),
            admin: format!("http://{admin}"),
            backup: place.join(BEFORE),
        }
    }

    /// There is room.
    pub(super) fn before(&self) -> anyhow::Result<()> {
        self.done(&["snapshot", "create", BEFORE])
    }

    /// There is none.
    pub(super) fn while_full(&self) -> anyhow::Result<()> {
        let refused = self.refused(&["snapshot", "create", FULL])?;
        // What stops writes first: the log without room, or files without room behind it.
        ensure!(
            ["disk_full", "backlogged"]
                .iter()
                .any(|why| refused.contains(&format!("takes no writes now: {why}"))),
            "a snapshot on a full disk: {refused}"
        );
        self.is_only(BEFORE)?;
        let broken_off = self.refused(&self.backing_up())?;
        ensure!(
            broken_off.contains("is not finished") && broken_off.contains("No space left"),
            "a backup on a full disk: {broken_off}"
        );
        let unfinished = self.refused(&["backup", "verify", self.place()])?;
        ensure!(
            unfinished.contains("no finished backup"),
            "a backup that was broken off: {unfinished}"
        );
        self.is_only(BEFORE)
    }

    /// There is room again.
    pub(super) fn after(&self) -> anyhow::Result<()> {
        self.done(&["snapshot", "create", FULL])?;
        self.done(&self.backing_up())?;
        let verified = self.run(&["backup", "verify", self.place(), "--output", "json"])?;
        let verified: Value = serde_json::from_str(&verified.1)?;
        ensure!(
            verified["findings"] == Value::Array(Vec::new())
                && verified["strangers"] == Value::Array(Vec::new())
                && verified["rows"].as_u64() > Some(0),
            "the backup that went on: {verified}"
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

    fn is_only(&self, name: &str) -> anyhow::Result<()> {
        let (code, listed, talk) = self.run(&["snapshot", "list", "--output", "json"])?;
        ensure!(code == Some(0), "listing snapshots: {talk}");
        let listed: Value = serde_json::from_str(&listed)?;
        let names: Vec<_> = listed["snapshots"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|snapshot| snapshot["name"].clone())
            .collect();
        ensure!(names == [name], "snapshots on a full disk: {names:?}");
        Ok(())
    }

    fn done(&self, words: &[&str]) -> anyhow::Result<()> {
        let (code, _, talk) = self.run(words)?;
        ensure!(code == Some(0), "{}: {talk}", words.join(" "));
        Ok(())
    }

    fn refused(&self, words: &[&str]) -> anyhow::Result<String> {
        let (code, _, talk) = self.run(words)?;
        ensure!(code == Some(2), "{}: {code:?}, {talk}", words.join(" "));
        Ok(talk)
    }

    /// Exit code, stdout, stderr.
    fn run(&self, words: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
        let mut command = Command::new(&self.program);
        let output = command
            .args(words)
            .env("PARTITA_ADMIN", &self.admin)
            .output()
            .context("starting a verb")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        ))
    }
}
