//! Writes the pages of the scan to part files, one after the other, on a separate thread.
//!
//! Invariant: the manifest on disk names only complete files. Its resume token is the position of the scan after the
//! rows of these files.

use super::{Fetching, Work};
use crate::formats::Schema;
use crate::scan::ResumeToken;
use crate::transfer::TransferError;
use crate::transfer::manifest::{ExportPart, Manifest, Progress};
use crate::transfer::observer::{Counts, Event};
use crate::transfer::part_file::PartWriter;
use partita_bulk::entity_bytes;
use std::sync::Arc;

/// The state of fetching: the manifest, and the part that is being written.
pub(super) struct Fetch {
    work: Arc<Work>,
    manifest: Manifest,
    /// The columns of all rows, including the current part.
    columns: Schema,
    part: Option<PartWriter>,
    /// The scan position after the last page.
    reached: Option<ResumeToken>,
    counts: Counts,
}

impl Fetch {
    pub(super) fn new(work: Arc<Work>, manifest: Manifest) -> Self {
        Self {
            columns: manifest.columns.clone(),
            work,
            manifest,
            part: None,
            reached: None,
            counts: Counts::default(),
        }
    }

    pub(super) fn take(&mut self, page: Fetching) -> Result<(), TransferError> {
        let Fetching { rows, token } = page;
        let mut part = match self.part.take() {
            Some(part) => part,
            None => self.next_part()?,
        };
        let bytes = rows.iter().map(entity_bytes).sum();
        let is_declared = self.work.options.columns.is_some();
        for entity in &rows {
            if !is_declared {
                let added = self.columns.add(entity);
                // Formats without columns allow any number of properties. The manifest then lists only the first
                // `COLUMNS_MAX` columns, so the error is ignored.
                if self.work.options.format.has_columns() {
                    added.map_err(TransferError::rows(&self.work.directory))?;
                }
            }
            part.write(entity)?;
        }
        let rows = rows.len() as u64;
        self.counts.rows_read += rows;
        self.counts.bytes += bytes;
        self.work.observer.event(&Event::Read { rows, bytes });
        let options = &self.work.options;
        if part.rows >= options.part_rows_max || part.row_bytes >= options.part_bytes_max {
            self.end_part(part, Some(token))
        } else {
            self.part = Some(part);
            self.reached = Some(token);
            Ok(())
        }
    }

    /// Ends the current part. `is_all` means that all rows were fetched; otherwise a resumed export continues after the
    /// part.
    pub(super) fn finish(mut self, is_all: bool) -> Result<(Manifest, Counts), TransferError> {
        let reached = self.reached.take().filter(|_| !is_all);
        if let Some(part) = self.part.take() {
            self.end_part(part, reached)?;
        }
        if is_all {
            self.manifest.resume = None;
            self.manifest.progress = Progress::Converting;
            self.manifest.save(&self.work.directory)?;
        }
        Ok((self.manifest, self.counts))
    }

    fn next_part(&self) -> Result<PartWriter, TransferError> {
        let format = self.work.fetched_style();
        let at = self.parts().len();
        let path = self.work.directory.join(self.work.fetched_name(at));
        PartWriter::create(path, format, &self.columns)
    }

    /// The parts fetched so far.
    fn parts(&self) -> &Vec<ExportPart> {
        if self.work.is_staged() {
            &self.manifest.staged
        } else {
            &self.manifest.parts
        }
    }

    fn end_part(
        &mut self,
        part: PartWriter,
        resume: Option<ResumeToken>,
    ) -> Result<(), TransferError> {
        let bytes = part.row_bytes;
        let part = part.finish()?;
        let rows = part.rows;
        let path = self.work.directory.join(&part.file);
        self.manifest.rows += rows;
        self.manifest.columns.clone_from(&self.columns);
        // The last part has no continuation token. A saved manifest without a token would restart the scan, so `finish`
        // saves it together with the new progress.
        let is_end = resume.is_none();
        self.manifest.resume = resume.map(|token| token.to_string());
        if self.work.is_staged() {
            self.manifest.staged.push(part);
        } else {
            self.manifest.parts.push(part);
            self.work.observer.event(&Event::Written { rows, bytes });
        }
        if !is_end {
            self.manifest.save(&self.work.directory)?;
            self.work.observer.event(&Event::Saved);
        }
        self.work.observer.event(&Event::File { path: &path, rows });
        Ok(())
    }
}
