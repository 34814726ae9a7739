//! Loads the library of `harness/preload` into a server: it makes file calls fail, shifts the clock and records
//! changes.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use partita_bench::project;
use tempfile::NamedTempFile;

/// `EIO`: the device failed.
pub(crate) const EIO: i32 = 5;
/// `ENOSPC`: the disk is full.
pub(crate) const ENOSPC: i32 = 28;
/// `EDQUOT`: the user's disk quota is used up.
pub(crate) const EDQUOT: i32 = 122;
/// `EMFILE`: too many open files.
pub(crate) const EMFILE: i32 = 24;

/// The library, and the files through which a test controls it and reads its results.
#[derive(Debug)]
pub(crate) struct Preload {
    library: PathBuf,
    /// The folder whose files are watched.
    root: PathBuf,
    journal: PathBuf,
    control: PathBuf,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// It fails.
    Whole,
    /// A write of more than 512 bytes succeeds after half of its bytes. A shorter one fails.
    Half,
    /// A rename or link is made, and then fails.
    After,
    /// It waits while the fault lasts, and does not fail.
    Hold,
}

impl Extent {
    const fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Half => "half",
            Self::After => "after",
            Self::Hold => "hold",
        }
    }
}

/// Calls that fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Names of operations, separated by commas.
    pub(crate) operations: &'static str,
    pub(crate) errno: i32,
    /// The share of the calls that fail.
    pub(crate) permille: u64,
    /// What happens to such a call.
    pub(crate) extent: Extent,
    /// Only calls whose path contains this text fail.
    pub(crate) part: &'static str,
}

impl Preload {
    /// Builds the library, for a server whose data is below `root`. The journal and the control file are in `scratch`,
    /// outside of `root`.
    pub(crate) fn new(scratch: &Path, root: &Path) -> anyhow::Result<Self> {
        let status = project::cargo()
            .args(["build", "--release", "--quiet"])
            .args(["--package", "partita-preload"])
            .status()
            .context("starting cargo")?;
        ensure!(status.success(), "building partita-preload failed");
        let library = project::root().join("target/release/libpartita_preload.so");
        std::fs::create_dir_all(root)?;
        let preload = Self {
            library,
            // Without symbolic links, because the library compares paths as text.
            root: root.canonicalize()?,
            journal: scratch.join("journal"),
            control: scratch.join("control"),
        };
        preload.set(0, &[])?;
        Ok(preload)
    }

    /// The folder whose files are watched.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Loads the library into a program, with an empty journal.
    pub(crate) fn load_into(&self, command: &mut Command) -> anyhow::Result<()> {
        std::fs::write(&self.journal, "").context("making the journal")?;
        command
            .env("LD_PRELOAD", &self.library)
            .env("PRELOAD_ROOT", &self.root)
            .env("PRELOAD_JOURNAL", &self.journal)
            .env("PRELOAD_CONTROL", &self.control);
        Ok(())
    }

    /// As [`Preload::load_into`], without a journal: for tests that need faults or another clock only.
    pub(crate) fn load_without_journal(&self, command: &mut Command) {
        command.envs(self.variables());
    }

    /// The environment variables that load the library without a journal.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 3] {
        [
            ("LD_PRELOAD", self.library.clone().into()),
            ("PRELOAD_ROOT", self.root.clone().into()),
            ("PRELOAD_CONTROL", self.control.clone().into()),
        ]
    }

    /// The same library for another program that has data below the same root, with a control file of its own in
    /// `scratch`.
    pub(crate) fn another(&self, scratch: &Path) -> anyhow::Result<Self> {
        let preload = Self {
            library: self.library.clone(),
            root: self.root.clone(),
            journal: scratch.join("journal"),
            control: scratch.join("control"),
        };
        preload.set(0, &[])?;
        Ok(preload)
    }

    /// The journal of the program that ended last.
    pub(crate) fn journal(&self) -> anyhow::Result<Vec<u8>> {
        std::fs::read(&self.journal).context("reading the journal")
    }

    /// Sets the shift of the clock and the faults. They apply from the next call of the program on.
    pub(crate) fn set(&self, clock_seconds: i64, faults: &[Fault]) -> anyhow::Result<()> {
        let mut text = format!("clock {clock_seconds}\n");
        for fault in faults {
            let extent = fault.extent.word();
            text += &format!(
                "fault {} {} {} {extent} {}\n",
                fault.operations, fault.errno, fault.permille, fault.part
            );
        }
        // A rename, so that each call of the program reads one whole version. Each version is written under a name of
        // its own, because two faults can end at the same time.
        let folder = self
            .control
            .parent()
            .context("the control file has no folder")?;
        let mut new = NamedTempFile::new_in(folder).context("creating the control file")?;
        new.write_all(text.as_bytes())
            .context("writing the control file")?;
        new.persist(&self.control)
            .context("replacing the control file")?;
        Ok(())
    }

    /// Number of calls that the library has made fail.
    pub(crate) fn hits(&self) -> u64 {
        let hits = std::fs::read_to_string(self.control.with_extension("hits"));
        hits.map_or(0, |hits| hits.lines().count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_may_replace_the_control_file_at_the_same_time() {
        let scratch = tempfile::tempdir().unwrap();
        let preload = Preload {
            library: PathBuf::new(),
            root: PathBuf::new(),
            journal: scratch.path().join("journal"),
            control: scratch.path().join("control"),
        };
        let replace = || (0..1_000).try_for_each(|_| preload.set(0, &[]));
        std::thread::scope(|scope| {
            let other = scope.spawn(replace);
            replace().unwrap();
            other.join().unwrap().unwrap();
        });

        assert_eq!(
            std::fs::read_to_string(&preload.control).unwrap(),
            "clock 0\n"
        );
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
