//! What a check found: which file, what is wrong with it, what that means, and what an operator can do.
//!
//! `docs/check.md` lists every finding.

use bytes::Bytes;
use partita_cluster::{DisplayKey, Fault, Severity as MapSeverity};
use partita_engine::slate::{FileFault, FileKind, OpenWalError};
use partita_range::{Bounds, RangeId};
use std::fmt;

const RESTORE_FILE: &str =
    "restore the file from a copy of this data directory, or restore a backup (partita restore)";

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Rows are lost, or the server refuses to start.
    Damage,
    /// Something is wrong, but no row of a table is affected.
    Warning,
    /// Nothing is wrong.
    Note,
}

impl Severity {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A finding of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder, below the data directory.
    pub file: String,
    /// The range that is affected.
    pub range: Option<u64>,
    /// The keys of the rows that are affected, as far as they are known.
    pub keys: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What that means for rows and for the server.
    pub meaning: String,
    /// What an operator can do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, meaning) = (self.severity.as_str(), &self.meaning);
        write!(f, "{severity}: {}: {}; {meaning}", self.file, self.problem)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl Finding {
    pub(super) fn new(
        severity: Severity,
        file: impl Into<String>,
        [problem, meaning, remedy]: [&str; 3],
    ) -> Self {
        Self {
            severity,
            file: file.into(),
            range: None,
            keys: None,
            problem: problem.to_owned(),
            meaning: meaning.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    pub(super) fn note(file: impl Into<String>, problem: &str, meaning: &str) -> Self {
        Self::new(Severity::Note, file, [problem, meaning, ""])
    }

    fn of_range(self, range: RangeId) -> Self {
        Self {
            range: Some(range.0),
            ..self
        }
    }

    /// A fault of the map, of a serving record, or of a database that the map lists.
    pub(super) fn of_map(finding: &partita_cluster::Finding) -> Self {
        let is_refused = finding.severity() == MapSeverity::Refused;
        let severity = match is_refused {
            true => Severity::Damage,
            false => Severity::Warning,
        };
        let meaning = match &finding.fault {
            Fault::DatabaseMissing | Fault::ManifestMissing | Fault::ManifestUnreadable(_) => {
                "the rows of the range cannot be read; the server does not start"
            }
            Fault::KeysOutside { .. } | Fault::ServingForeign => {
                "it is unknown which rows are the newest; the server does not start"
            }
            _ if is_refused => {
                "it is unknown which ranges are served, so rows could be hidden or deleted; the server does not start"
            }
            _ => "no row is affected",
        };
        let problem = finding.fault.to_string();
        let file = format!("store/{}", finding.object);
        let found = Self::new(severity, file, [&problem, meaning, finding.remedy()]);
        let range = finding.object.strip_prefix("range-");
        Self {
            range: range.and_then(|range| range.parse().ok()),
            ..found
        }
    }

    /// A fault of a file of a database. `is_served`: the map lists its range.
    pub(super) fn of_file(range: RangeId, is_served: bool, fault: &FileFault) -> Self {
        let (severity, meaning, remedy) = match &fault.kind {
            FileKind::Manifest if is_served => (
                Severity::Damage,
                "no row of the range can be read; the server does not start",
                RESTORE_FILE,
            ),
            FileKind::Data { is_live: true, .. } if is_served => (
                Severity::Damage,
                "the rows of these keys that are in the file are lost; reads that need it get 500, all other rows are served",
                RESTORE_FILE,
            ),
            FileKind::Manifest | FileKind::Data { .. } => (
                Severity::Warning,
                "only snapshots and replaced ranges use it; no row of a table is affected",
                "delete the snapshots that cannot be read, and create new ones",
            ),
            FileKind::OldManifest { is_needed: true } => (
                Severity::Warning,
                "a snapshot or a copied range used it; no row of a table is affected",
                "delete the snapshots that cannot be read, and create new ones",
            ),
            FileKind::OldManifest { is_needed: false } => (
                Severity::Note,
                "it is an old version that nothing reads",
                "garbage collection deletes it",
            ),
            FileKind::Compactions if is_served => (
                Severity::Damage,
                "no row is lost, but the server cannot open the range",
                "move the folder away: the next start creates it again, and compaction begins anew",
            ),
            FileKind::Compactions => (
                Severity::Note,
                "the range is not served",
                "nothing needs to be done",
            ),
            FileKind::Witness => (
                Severity::Warning,
                "no row is lost, but a missing newest manifest would not be noticed",
                "the next start writes it again",
            ),
            FileKind::Unread => (
                Severity::Warning,
                "its content is unknown",
                "check the disk, and run the check again",
            ),
        };
        let keys = match &fault.kind {
            FileKind::Data { keys, .. } => keys.as_ref(),
            _ => None,
        };
        Self {
            keys: keys.map(|(first, last)| keys_text(first, last)),
            ..Self::new(severity, &fault.file, [&fault.problem, meaning, remedy]).of_range(range)
        }
    }

    /// The WAL cannot be opened. `file` is below the data directory.
    pub(super) fn of_log(file: String, error: &OpenWalError) -> Self {
        let problem = match error {
            OpenWalError::Missing { what, .. } => format!("is missing: {what}"),
            OpenWalError::Damaged { what, .. } => format!("is damaged: {what}"),
            OpenWalError::UnknownVersion { found, .. } => {
                format!("has version {found}, which this version of partita cannot read")
            }
            OpenWalError::Io(error) => format!("cannot be read: {error}"),
            // Only a log in an object store, which is not checked.
            OpenWalError::Fenced { note, .. } => format!("was sealed by {note}"),
            OpenWalError::Ended { .. } => "has ended".to_owned(),
        };
        let meaning = "rows that were written last may be lost; the server does not start";
        Self::new(Severity::Damage, file, [&problem, meaning, RESTORE_FILE])
    }

    /// Records of the WAL that a range needs are missing.
    pub(super) fn of_missing_records(range: RangeId, first: u64, last: u64) -> Self {
        let problem = format!("lacks the records {first} to {last} of range {range}");
        let meaning = "the rows that they held are lost; the server does not start";
        let remedy =
            "restore log/ and store/ from one copy of this data directory, or restore a backup";
        Self::new(Severity::Damage, "log", [&problem, meaning, remedy]).of_range(range)
    }

    /// The WAL is empty, although databases exist.
    pub(super) fn of_missing_log() -> Self {
        let texts = [
            "is empty or missing, although databases exist",
            "rows that were written last may be lost; the server does not start",
            RESTORE_FILE,
        ];
        Self::new(Severity::Damage, "log", texts)
    }

    /// The WAL has rows of a range with keys outside the range. `first` and `last` are the ends of these keys.
    pub(super) fn of_logged_keys(range: RangeId, (first, last): &(Bytes, Bytes)) -> Self {
        let keys = keys_text(first, last);
        let problem = format!("has rows of range {range} with the keys {keys}, outside the range");
        let meaning = "log/ and store/ are of different copies, so rows could be hidden";
        let remedy = "restore one whole copy of the data directory";
        Self::new(Severity::Damage, "log", [&problem, meaning, remedy]).of_range(range)
    }

    /// A snapshot cannot be read.
    pub(super) fn of_snapshot(file: String, problem: &str) -> Self {
        let meaning = "the snapshot cannot be read; no row of a table is affected";
        let remedy = "restore the file, or delete the snapshot and create a new one";
        Self::new(Severity::Warning, file, [problem, meaning, remedy])
    }

    /// An object of the heat history cannot be read.
    pub(super) fn of_heat(file: String, problem: &str) -> Self {
        let meaning = "it holds statistics only; no row is affected";
        let remedy = "the file can be deleted; the server skips it";
        Self::new(Severity::Warning, file, [problem, meaning, remedy])
    }
}

/// Keys, for messages.
pub(super) fn keys_text(first: &Bytes, last: &Bytes) -> String {
    format!("\"{}\" to \"{}\"", DisplayKey(first), DisplayKey(last))
}

/// Whether keys are inside a range.
pub(super) fn is_inside((first, last): &(Bytes, Bytes), bounds: &Bounds) -> bool {
    *first >= bounds.start && bounds.end.as_ref().is_none_or(|end| last < end)
}
