//! `/admin/v1/jobs`: work that takes longer than a request.

use serde::{Deserialize, Serialize};

/// The recent jobs, latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// `restore tables`, `backup` or `unpack`.
    pub kind: String,
    /// Its parameters.
    pub asked: JobParams,
    /// Its state.
    pub state: JobState,
    /// Rows copied so far.
    pub rows: u64,
    /// Bytes copied so far.
    pub bytes: u64,
    /// Its result, after success.
    pub result: Option<JobResult>,
    /// The error, after a failure.
    pub error: Option<String>,
}

/// States of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// The job is running.
    Running,
    /// The job succeeded and has a result.
    Done,
    /// The job failed and has an error.
    Failed,
    /// A value that a later version uses.
    #[serde(untagged)]
    Other(String),
}

/// The parameters with which a job was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JobParams {
    /// A snapshot is copied.
    Copy {
        /// The snapshot.
        snapshot: String,
        /// The destination.
        to: String,
    },
    /// Tables are restored from a snapshot.
    Restore {
        /// The snapshot.
        snapshot: String,
        /// The account of the tables.
        account: String,
        /// The table; `None` for all tables of the account.
        table: Option<String>,
        /// The name of the restored table; `None` for the name in the snapshot.
        #[serde(rename = "as")]
        into: Option<String>,
    },
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JobResult {
    /// Tables were restored.
    Restored {
        /// The tables.
        tables: Vec<RestoredTable>,
        /// Rows of all tables.
        rows: u64,
        /// Bytes of these rows.
        bytes: u64,
    },
    /// A snapshot was backed up.
    BackedUp(BackupResult),
    /// A snapshot was copied into a data directory.
    Unpacked {
        /// Entities and messages.
        rows: u64,
        /// Bytes of all stored rows, also of the catalog.
        bytes: u64,
        /// A remaining step for the operator; absent if no step remains.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
}

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupResult {
    /// Number of files with rows.
    pub parts: u64,
    /// Number of these files that an earlier, interrupted run had copied.
    pub kept: u64,
    /// Number of entities and messages in the backup.
    pub rows: u64,
    /// Size of all stored keys and values in bytes, also of the catalog.
    pub row_bytes: u64,
    /// Size of the backup's files in bytes.
    pub bytes: u64,
    /// A remaining step for the operator; absent if no step remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// A table that was restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredTable {
    /// Its name in the snapshot.
    pub table: String,
    /// Its name now.
    #[serde(rename = "as")]
    pub into: String,
    /// Number of restored rows.
    pub rows: u64,
}
