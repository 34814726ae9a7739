//! The manifest of an export: its files, their content, and the position of a running export.
//!
//! ```text
//! fetching ──all rows fetched──▶ converting ──all parts written──▶ complete
//!    `parts` or `staged` grow,       `staged` files become `parts`     only `parts`
//!    `resume` is the scan position
//! ```
//!
//! If rows need no conversion, they are fetched into `parts`; otherwise first into `staged` files. The manifest is
//! replaced atomically after each file, so every file that it names is complete. Other files are ignored.

use super::{TransferError, atomic_file};
use crate::formats::{Format, Schema, Style};
use crate::scan::Bounds;
use partita_bulk::Keys;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// The name of a manifest in the directory of its export.
pub const MANIFEST_FILE: &str = "_manifest.json";
/// The version of manifests that this program writes and reads.
const MANIFEST_VERSION: u64 = 1;

/// The value of `kind`, which distinguishes a manifest from other JSON files.
const MANIFEST_KIND: &str = "partita-export";
/// Largest manifest, in bytes: enough for 10,000 columns and 100,000 parts.
const MANIFEST_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// The manifest of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always `partita-export`.
    pub kind: String,
    /// The version of the manifest's format: 1.
    pub version: u64,
    /// How far the export is.
    pub progress: Progress,
    /// The source of the rows.
    pub source: Source,
    /// The format of the parts.
    pub format: Format,
    /// Which columns the parts leave out.
    #[serde(default, skip_serializing_if = "Style::is_complete")]
    pub style: Style,
    /// The number of fetched rows: of all parts if the export is complete.
    pub rows: u64,
    /// The properties and types of the rows, in the order of their first rows, or as declared. Rows in a format without
    /// columns may have more properties than [`crate::formats::COLUMNS_MAX`]; then the list has only the first ones.
    pub columns: Schema,
    /// Whether the user declared the columns.
    pub declared: bool,
    /// The files with the exported rows, in the table's order.
    pub parts: Vec<ExportPart>,
    /// Fetched files to convert into parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub staged: Vec<ExportPart>,
    /// The resume token of the scan after the last file, while rows are being fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// The progress of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// Rows are being fetched.
    Fetching,
    /// All rows are fetched, and are being converted.
    Converting,
    /// All parts are written.
    Complete,
}

/// The source of an export's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The account's endpoint.
    pub endpoint: String,
    /// The name of the table.
    pub table: String,
    /// The filter of the rows; `None` for all rows.
    pub filter: Option<String>,
    /// The names of the exported properties; empty for all.
    pub select: Vec<String>,
    /// The exported partitions.
    #[serde(default, skip_serializing_if = "Bounds::is_everything")]
    pub bounds: Bounds,
}

/// A file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportPart {
    /// The file name, without a path. The file is in the directory of the manifest.
    pub file: String,
    /// The number of rows.
    pub rows: u64,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file, in lower-case hex.
    pub sha256: String,
    /// The keys of the first row; `None` without rows.
    pub first: Option<Keys>,
    /// The keys of the last row; `None` without rows.
    pub last: Option<Keys>,
}

impl Manifest {
    /// The manifest of a new export.
    pub(super) fn new(source: Source, format: Format, columns: Option<&Schema>) -> Self {
        Self {
            kind: MANIFEST_KIND.to_owned(),
            version: MANIFEST_VERSION,
            progress: Progress::Fetching,
            source,
            format,
            style: Style::default(),
            rows: 0,
            columns: columns.cloned().unwrap_or_default(),
            declared: columns.is_some(),
            parts: Vec::new(),
            staged: Vec::new(),
            resume: None,
        }
    }

    /// Reads the manifest of a directory, if there is one.
    ///
    /// # Errors
    /// [`TransferError::Version`], [`TransferError::Damaged`], [`TransferError::Io`].
    pub fn load(directory: &Path) -> Result<Option<Self>, TransferError> {
        let path = directory.join(MANIFEST_FILE);
        let Some(manifest) =
            load::<Self>(&path, MANIFEST_KIND, MANIFEST_VERSION, MANIFEST_BYTES_MAX)?
        else {
            return Ok(None);
        };
        for part in manifest.parts.iter().chain(&manifest.staged) {
            if !is_plain_name(&part.file) {
                let what = format!("the part name {:?} is not a plain file name", part.file);
                return Err(TransferError::damaged(&path, what));
            }
        }
        Ok(Some(manifest))
    }

    /// Writes the manifest of a directory.
    pub(super) fn save(&self, directory: &Path) -> Result<(), TransferError> {
        save(&directory.join(MANIFEST_FILE), self)
    }

    /// As [`Self::save`], if several processes may do so at the same time.
    pub(super) fn save_shared(&self, directory: &Path) -> Result<(), TransferError> {
        let path = directory.join(MANIFEST_FILE);
        atomic_file::replace_shared(&path, &text(&path, self)?)
    }

    /// The parts, each with its path in `directory`.
    pub(super) fn files<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = (PathBuf, &'a ExportPart)> {
        self.parts
            .iter()
            .map(|part| (directory.join(&part.file), part))
    }
}

/// Whether the name is a plain file name without a path. The manifest is untrusted input.
fn is_plain_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let first = components.next();
    matches!(first, Some(Component::Normal(_)))
        && components.next().is_none()
        && !name.contains(['/', '\\', ':'])
}

/// The fields that manifests and progress files of all versions have.
#[derive(Deserialize)]
struct Head {
    kind: String,
    version: u64,
}

/// Reads a manifest or progress file of this kind and version, if it exists. Reads at most `bytes_max` bytes.
pub(super) fn load<T: DeserializeOwned>(
    path: &Path,
    kind: &str,
    version: u64,
    bytes_max: u64,
) -> Result<Option<T>, TransferError> {
    let mut text = Vec::new();
    match fs::File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(TransferError::io(path)(error)),
    }
    let damaged = |error: serde_json::Error| TransferError::damaged(path, error);
    let head: Head = serde_json::from_slice(&text).map_err(damaged)?;
    if head.kind != kind {
        let what = format!("its kind is {:?} instead of {kind:?}", head.kind);
        return Err(TransferError::damaged(path, what));
    }
    if head.version != version {
        return Err(TransferError::Version {
            path: path.to_owned(),
            version: head.version,
        });
    }
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

/// Writes a manifest or progress file.
pub(super) fn save(path: &Path, content: &impl Serialize) -> Result<(), TransferError> {
    atomic_file::replace(path, &text(path, content)?)
}

/// The text of a manifest or progress file.
fn text(path: &Path, content: &impl Serialize) -> Result<Vec<u8>, TransferError> {
    let mut text =
        serde_json::to_vec_pretty(content).map_err(|error| TransferError::damaged(path, error))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let source = Source {
            endpoint: "http://127.0.0.1/a".to_owned(),
            table: "T123".to_owned(),
            filter: None,
            select: Vec::new(),
            bounds: Bounds::default(),
        };
        let mut manifest = Manifest::new(source, Format::Csv, None);
        manifest.parts.push(ExportPart {
            file: "part-00000.csv".to_owned(),
            rows: 0,
            bytes: 0,
            sha256: String::new(),
            first: None,
            last: None,
        });
        manifest
    }

    fn loaded(manifest: &serde_json::Value) -> Result<Option<Manifest>, TransferError> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(MANIFEST_FILE), manifest.to_string()).unwrap();
        Manifest::load(directory.path())
    }

    #[test]
    fn a_saved_manifest_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::load(directory.path()).unwrap(), None);
        manifest().save(directory.path()).unwrap();
        assert_eq!(Manifest::load(directory.path()).unwrap(), Some(manifest()));
    }

    #[test]
    fn other_versions_and_kinds_are_refused() {
        let mut text = serde_json::to_value(manifest()).unwrap();
        text["version"] = 2.into();
        // The version is checked before unknown fields.
        text["news"] = true.into();
        assert!(matches!(
            loaded(&text),
            Err(TransferError::Version { version: 2, .. })
        ));
        text["version"] = 1.into();
        assert!(matches!(loaded(&text), Err(TransferError::Damaged { .. })));
        text.as_object_mut().unwrap().remove("news");
        assert!(loaded(&text).unwrap().is_some());
        text["kind"] = "other".into();
        assert!(matches!(loaded(&text), Err(TransferError::Damaged { .. })));
    }

    #[test]
    fn names_with_paths_are_refused() {
        for name in ["../a", "/a", "a/b", "a\\b", "", ".", "..", "c:a"] {
            let mut text = serde_json::to_value(manifest()).unwrap();
            text["parts"][0]["file"] = name.into();
            assert!(
                matches!(loaded(&text), Err(TransferError::Damaged { .. })),
                "{name}"
            );
        }
    }
}
