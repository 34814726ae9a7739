//! Begins an export: finds the export to resume, or creates a new one.

use super::{Work, convert};
use crate::transfer::manifest::{Manifest, Progress, Source};
use crate::transfer::{TransferError, atomic_file};
use std::fs::{self, DirEntry};

impl Work {
    /// The manifest of the export to resume. `None` if a new export can be created. Writes nothing.
    ///
    /// # Errors
    /// [`TransferError::AlreadyThere`], [`TransferError::OtherJob`], [`TransferError::NoDirectory`],
    /// [`TransferError::Io`].
    pub(super) fn find(&self, source: &Source) -> Result<Option<Manifest>, TransferError> {
        let (directory, options) = (&self.directory, &self.options);
        // The parent of the file is that of its temporary directory. Errors name the path of the user.
        atomic_file::check_parent(self.file.as_ref().unwrap_or(directory))?;
        let manifest = Manifest::load(directory)?;
        let is_discarded = |manifest: &Manifest| match manifest.progress {
            Progress::Complete => options.overwrite && !options.resume,
            Progress::Fetching | Progress::Converting => options.restart,
        };
        let is_ours = manifest.is_some();
        if let Some(manifest) = manifest.filter(|manifest| !is_discarded(manifest)) {
            if !options.resume {
                return Err(TransferError::AlreadyThere(directory.clone()));
            }
            let begun = manifest.declared.then_some(&manifest.columns);
            let is_same = manifest.source == *source
                && (manifest.format, manifest.style) == (options.format, options.style)
                && options.columns.as_ref() == begun;
            if !is_same {
                return Err(TransferError::OtherJob(directory.clone()));
            }
            return Ok(Some(manifest));
        }
        let file = self.file.as_ref();
        if let Some(file) = file.filter(|file| file.exists() && !options.overwrite) {
            // The file and its temporary directory exist, but no manifest: the export was complete, and only the
            // directory was not yet removed.
            if options.resume && directory.is_dir() {
                let mut manifest = self.manifest(source.clone());
                manifest.progress = Progress::Complete;
                return Ok(Some(manifest));
            }
            return Err(TransferError::AlreadyThere(file.clone()));
        }
        if directory.exists() && !is_ours {
            let mut entries = directory.read_dir().map_err(TransferError::io(directory))?;
            let is_foreign = |entry: DirEntry| !convert::is_leftover(&entry.file_name());
            if entries.any(|entry| entry.is_ok_and(is_foreign)) {
                return Err(TransferError::AlreadyThere(directory.clone()));
            }
        }
        Ok(None)
    }

    /// Creates a new export, after [`Self::find`] found none to resume. Discards an old one.
    ///
    /// # Errors
    /// [`TransferError::Io`]. Nothing is left then.
    pub(super) fn create(&self, source: Source) -> Result<Manifest, TransferError> {
        let directory = &self.directory;
        let is_new = atomic_file::create_directory(directory);
        let is_new = is_new.map_err(|error| match (error, &self.file) {
            (TransferError::Io { source, .. }, Some(file)) => TransferError::io(file)(source),
            (error, _) => error,
        })?;
        if !is_new {
            convert::discard(directory)?;
        }
        let manifest = self.manifest(source);
        let saved = manifest.save(directory);
        if saved.is_err() && is_new {
            // Only files of this export can be in it.
            let _ = fs::remove_dir_all(directory);
        }
        saved.map(|()| manifest)
    }

    fn manifest(&self, source: Source) -> Manifest {
        let options = &self.options;
        let mut manifest = Manifest::new(source, options.format, options.columns.as_ref());
        manifest.style = options.style;
        manifest
    }
}
