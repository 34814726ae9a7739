//! Pages to part files, one after the other. Runs on a thread of its own.
//!
//! Invariant: the manifest on the disk names files that are whole, and goes on exactly behind their rows.

use super::{Fetching, Work};
use crate::formats::Schema;
use crate::scan::ResumeToken;
use crate::transfer::manifest::{Manifest, Progress};
use crate::transfer::observer::Event;
use crate::transfer::part_file::PartWriter;
use crate::transfer::{TransferError, size};
use std::sync::Arc;

/// Rows being written.
pub(super) struct Fetch {
    work: Arc<Work>,
    manifest: Manifest,
    /// The columns of all rows, those of the part under way too.
    columns: Schema,
    part: Option<PartWriter>,
    /// Where the scan stood behind the last page.
    reached: Option<ResumeToken>,
    rows: u64,
    bytes: u64,
}

/// What has been fetched.
pub(super) struct Fetched {
    pub(super) manifest: Manifest,
    pub(super) rows: u64,
    /// By the service's formula.
    pub(super) bytes: u64,
}

impl Fetch {
    pub(super) fn new(work: Arc<Work>, manifest: Manifest) -> Self {
        Self {
            columns: manifest.columns.clone(),
            work,
            manifest,
            part: None,
            reached: None,
            rows: 0,
            bytes: 0,
        }
    }

    pub(super) fn take(&mut self, page: Fetching) -> Result<(), TransferError> {
        let Fetching { rows, token } = page;
        let mut part = match self.part.take() {
            Some(part) => part,
            None => self.next_part()?,
        };
        let bytes = rows.iter().map(size::entity_bytes).sum();
        let is_declared = self.work.options.columns.is_some();
        for entity in &rows {
            if !is_declared {
                let added = self.columns.add(entity);
                // Files without columns hold what there is no room for, too: their manifest names the first ones only.
                if self.work.options.format.has_columns() {
                    added.map_err(TransferError::rows(&self.work.directory))?;
                }
            }
            part.write(entity)?;
        }
        let rows = rows.len() as u64;
        (self.rows, self.bytes) = (self.rows + rows, self.bytes + bytes);
        self.work.observer.event(&Event::Read { rows, bytes });
        let options = &self.work.options;
        if part.rows() >= options.part_rows_max || part.row_bytes() >= options.part_bytes_max {
            self.end_part(part, Some(token))
        } else {
            self.part = Some(part);
            self.reached = Some(token);
            Ok(())
        }
    }

    /// Ends the part under way, as the last one if all rows came. If not, the export goes on behind it.
    pub(super) fn finish(mut self, is_all: bool) -> Result<Fetched, TransferError> {
        let reached = self.reached.take().filter(|_| !is_all);
        if let Some(part) = self.part.take() {
            self.end_part(part, reached)?;
        }
        if is_all {
            self.manifest.resume = None;
            self.manifest.progress = Progress::Converting;
            self.manifest.save(&self.work.directory)?;
        }
        Ok(Fetched {
            manifest: self.manifest,
            rows: self.rows,
            bytes: self.bytes,
        })
    }

    fn next_part(&self) -> Result<PartWriter, TransferError> {
        let format = self.work.fetched_format();
        let at = self.parts().len();
        let path = self.work.directory.join(self.work.fetched_name(at));
        PartWriter::create(path, format, &self.columns)
    }

    /// The parts fetched so far.
    fn parts(&self) -> &Vec<crate::transfer::manifest::ExportPart> {
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
        let bytes = part.row_bytes();
        let part = part.finish()?;
        let rows = part.rows;
        let path = self.work.directory.join(&part.file);
        self.manifest.rows += rows;
        self.manifest.columns.clone_from(&self.columns);
        // None would be the beginning; the end is not saved from here.
        let is_end = resume.is_none();
        self.manifest.resume = resume;
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
