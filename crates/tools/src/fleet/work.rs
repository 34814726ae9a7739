//! What a step has to do.

use crate::formats::InputFormat;
use crate::scan::Step;
use crate::transfer::ExportPart;
use serde::{Deserialize, Serialize};

/// What a step has to do, as its row stores it. The work of a job is never repeated in another step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Work {
    /// To read parts of the table: neighbours, in the table's order.
    Parts(Vec<Step>),
    /// To import files.
    Files(Vec<ImportFile>),
}

/// A file of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportFile {
    /// The path below the directory of the job.
    pub file: String,
    /// The format.
    pub format: InputFormat,
    /// The file's entry in the manifest of its export, without keys; `None` for a single file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ExportPart>,
    /// Number of rows at its beginning that a stopped step has written.
    pub rows_done: u64,
}
