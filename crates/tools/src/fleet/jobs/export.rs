//! Exports rows: each run of a step writes one part file. Its name has a random number, so two runs of one step never
//! write the same file. The manifest names only the files of committed runs.

use super::Action;
use super::copy::{by_rows, keep};
use crate::fleet::step_row::{StepResult, StepSummary};
use crate::fleet::{FleetError, Job, StepRow, Tally};
use crate::formats::{EntityReader, Format, Schema};
use crate::scan::compare_keys;
use crate::source::TableRow;
use crate::transfer::blocking::blocking;
use crate::transfer::separate_parts::{remove_part, write_manifest, write_part};
use crate::transfer::{ExportPart, Manifest, TransferError};
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use partita_client::Entity;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Exports the rows of a step.
pub(super) struct Export {
    directory: PathBuf,
    format: Format,
    name: String,
    rows: Vec<Entity>,
}

/// The output of a step.
#[derive(Serialize, Deserialize)]
struct Output {
    part: ExportPart,
    columns: Schema,
}

impl Export {
    pub(super) fn new(directory: PathBuf, format: Format, step: &StepRow) -> Self {
        Self {
            directory,
            format,
            name: format!("{}-{:08x}", step.id, fastrand::u32(..)),
            rows: Vec::new(),
        }
    }

    async fn write(self) -> Result<StepResult, FleetError> {
        if self.rows.is_empty() {
            return Ok(StepResult::default());
        }
        let (part, columns) = write_part(self.directory, self.name, self.format, self.rows).await?;
        let output = serde_json::to_string(&Output { part, columns });
        Ok(StepResult {
            tally: Tally {
                effects: 1,
                ..Tally::default()
            },
            output: Some(output.map_err(|error| FleetError::damaged("Output", error))?),
        })
    }
}

impl Action for Export {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        ready(keep(&rows, &mut self.rows)).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        self.write().boxed()
    }
}

fn read(output: &str) -> Result<Output, FleetError> {
    serde_json::from_str(output).map_err(|error| FleetError::damaged("Output", error))
}

/// Removes the part of a run that was not committed.
pub(super) async fn discard(directory: &Path, output: &str) -> Result<(), FleetError> {
    let path = directory.join(read(output)?.part.file);
    Ok(remove_part(path).await?)
}

/// Writes the manifest.
pub(super) async fn conclude(
    directory: &Path,
    format: Format,
    job: &Job,
    steps: &[StepSummary],
) -> Result<(), FleetError> {
    let outputs = steps.iter().filter_map(|step| step.output.as_deref());
    let mut outputs = outputs.map(read).collect::<Result<Vec<_>, _>>()?;
    outputs.sort_by(|a, b| {
        let [a, b] = [a, b].map(|output| {
            let first = output.part.first.as_ref();
            first.map_or(("", ""), |keys| (&*keys.partition_key, &*keys.row_key))
        });
        compare_keys(a, b)
    });
    let parts = outputs.into_iter();
    let parts = parts.map(|output| (output.part, output.columns)).collect();
    let source = job.spec.source.clone();
    Ok(write_manifest(directory.to_owned(), source, format, parts).await?)
}

/// The counts of the rows that the manifest's parts have.
pub(in crate::fleet) async fn written(directory: PathBuf) -> Result<Tally, FleetError> {
    let count = move || {
        let mut tally = Tally::default();
        let manifest = Manifest::load(&directory)?;
        for part in manifest.iter().flat_map(|manifest| &manifest.parts) {
            let path = directory.join(&part.file);
            let format = Format::of_path(&path);
            let format = format.ok_or_else(|| TransferError::unknown_format(&path))?;
            let rows = EntityReader::open(&path, format).map_err(TransferError::rows(&path))?;
            for row in rows {
                tally += by_rows(&[row.map_err(TransferError::rows(&path))?]);
            }
        }
        Ok(tally)
    };
    Ok(blocking(count).await?)
}
