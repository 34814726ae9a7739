//! Imports files. A step writes the rows of one file; its writes are idempotent, as those of a copy.

use super::copy::Copy;
use crate::fleet::{FleetError, ImportFile, Tally};
use crate::formats::InputFormat;
use crate::transfer::blocking::blocking;
use crate::transfer::input_file::{FileRows, InputFile, input_files};
use crate::transfer::{ExportPart, Mode, TransferError};
use partita_client::TableClient;
use std::path::{Path, PathBuf};

/// The files of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportPlan {
    /// The directory that has all files, possibly in directories below it.
    pub directory: PathBuf,
    /// The files.
    pub files: Vec<ImportFile>,
    /// The number of their rows, if all of them store it.
    pub rows: Option<u64>,
}

impl ImportPlan {
    /// The files at these paths: single files, and directories of exports. `format` is that of the single files; `None`
    /// to take it from their names.
    ///
    /// # Errors
    /// [`FleetError::Transfer`].
    pub async fn new(paths: Vec<PathBuf>, format: Option<InputFormat>) -> Result<Self, FleetError> {
        let planned = blocking(move || {
            let mut inputs = Vec::new();
            for path in &paths {
                let absolute = path.canonicalize().map_err(TransferError::io(path))?;
                inputs.extend(input_files(&absolute, format)?);
            }
            Self::of(inputs)
        });
        Ok(planned.await?)
    }

    fn of(inputs: Vec<InputFile>) -> Result<Self, TransferError> {
        let mut folders = inputs.iter().filter_map(|input| input.path.parent());
        let first = folders.next().unwrap_or_else(|| Path::new("/"));
        let directory = folders.fold(first, common).to_owned();
        let rows = inputs.iter().map(|input| input.rows).sum();
        let files = inputs.into_iter().map(|input| {
            let relative = input.path.strip_prefix(&directory).ok();
            let file = relative.and_then(Path::to_str).ok_or_else(|| {
                TransferError::damaged(&input.path, "the name of the file is not UTF-8")
            })?;
            let without_keys = |part| ExportPart {
                first: None,
                last: None,
                ..part
            };
            Ok(ImportFile {
                file: file.to_owned(),
                format: input.read.format,
                part: input.part.map(without_keys),
                rows_done: 0,
            })
        });
        Ok(Self {
            files: files.collect::<Result<_, TransferError>>()?,
            directory,
            rows,
        })
    }
}

/// The deepest directory that has both directories.
fn common<'a>(one: &'a Path, other: &Path) -> &'a Path {
    let mut directories = one.ancestors();
    let found = directories.find(|directory| other.starts_with(directory));
    found.unwrap_or(one)
}

/// Imports the files of steps.
pub(in crate::fleet) struct Import {
    directory: PathBuf,
    copy: Copy,
}

impl Import {
    pub(in crate::fleet) fn new(directory: PathBuf, table: TableClient, mode: Mode) -> Self {
        Self {
            directory,
            copy: Copy::new(table, mode),
        }
    }

    /// Writes the rows of a file, until `is_stopped`. Returns what is left of the file.
    pub(in crate::fleet) async fn run(
        &self,
        file: &ImportFile,
        is_stopped: impl Fn() -> bool,
    ) -> Result<(Tally, Option<ImportFile>), FleetError> {
        let input = InputFile {
            path: self.directory.join(&file.file),
            read: file.format.into(),
            rows: None,
            part: file.part.clone(),
        };
        let (mut rows, mut tally) = (FileRows::open(input, file.rows_done), Tally::default());
        while let Some((chunk, rows_done)) = rows.next().await? {
            tally += self.copy.write_in_order(chunk).await?;
            if is_stopped() {
                let left = ImportFile {
                    rows_done,
                    ..file.clone()
                };
                return Ok((tally, Some(left)));
            }
        }
        Ok((tally, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_has_all_files() {
        let directory_of = |paths: &[&str]| {
            let input = |path: &&str| InputFile {
                path: path.into(),
                read: InputFormat::Jsonl.into(),
                part: None,
                rows: Some(2),
            };
            let plan = ImportPlan::of(paths.iter().map(input).collect()).unwrap();
            assert_eq!(plan.rows, Some(2 * paths.len() as u64));
            let files = plan
                .files
                .iter()
                .map(|file| plan.directory.join(&file.file));
            let paths = paths.iter().map(PathBuf::from);
            assert!(files.eq(paths));
            plan.directory
        };
        assert_eq!(directory_of(&["/a/b/c.jsonl"]), Path::new("/a/b"));
        assert_eq!(directory_of(&["/a/b/c", "/a/b/d"]), Path::new("/a/b"));
        assert_eq!(directory_of(&["/a/b/c", "/a/bc/d"]), Path::new("/a"));
        assert_eq!(directory_of(&["/a/b/c", "/a/d", "/e"]), Path::new("/"));
    }
}
