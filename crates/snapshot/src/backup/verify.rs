//! Verifying every file of a backup.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::TryStreamExt as _;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use object_store::path::Path;
use partita_rt::place;

use super::manifest::{Begun, Manifest, pretty, sha256};
use super::part::Part;
use super::user_rows::user_rows;
use super::{BEGUN, BackupError, CHECKSUMS, MANIFEST, Note, Progress};

/// A missing or damaged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The file with this name is missing.
    Missing(String),
    /// The file is truncated: its name, its bytes and the expected bytes.
    Short(String, u64, u64),
    /// The content of the file with this name differs from its checksum, or the manifest differs from `SHA256SUMS`.
    Changed(String),
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Missing and damaged files; empty if the backup is intact.
    pub findings: Vec<Finding>,
    /// Files that were read.
    pub files: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Entities and messages in the intact parts.
    pub rows: u64,
    /// Files that do not belong to the backup.
    pub unexpected: Vec<String>,
}

/// Reads every file of a backup and compares it with the manifest and with `SHA256SUMS`. Also compares these two with
/// each other. Calls `note` after each part.
///
/// # Errors
/// [`BackupError::NotThere`]; [`BackupError::Store`].
pub fn verify<'a>(
    store: &'a dyn ObjectStore,
    note: Note<'a>,
) -> BoxFuture<'a, Result<Verified, BackupError>> {
    Box::pin(async move {
        let mut verified = Verified::default();
        let list = place::read(store, MANIFEST).await?;
        let list = list.ok_or(BackupError::NotThere)?;
        let manifest = Manifest::parse(&list).ok();
        let sums = place::read(store, CHECKSUMS).await?;
        let begun = place::read(store, BEGUN).await?;
        verified.count(&list);
        verified.check_lists(&list, manifest.as_ref(), sums.as_ref());
        match (&begun, &manifest) {
            (None, _) => verified.missing(BEGUN),
            (Some(begun), Some(manifest)) => {
                verified.count(begun);
                if begun.as_ref() != pretty(&Begun::new(manifest.snapshot.clone())) {
                    verified.changed(BEGUN);
                }
            }
            (Some(_), None) => {}
        }
        // The expected parts are those of the manifest, or of the checksums if the manifest cannot be read.
        let parts: BTreeMap<String, (String, Option<u64>)> = match &manifest {
            Some(manifest) => manifest
                .parts
                .iter()
                .map(|part| (part.name.clone(), (part.sha256.clone(), Some(part.bytes))))
                .collect(),
            None => parse_sums(sums.as_deref().unwrap_or_default()),
        };
        for (name, (digest, bytes)) in &parts {
            check_part(&mut verified, store, name, digest, *bytes).await?;
            note(Progress {
                rows: verified.rows,
                bytes: verified.bytes,
            });
        }
        let known = [MANIFEST, CHECKSUMS, BEGUN];
        let all: Vec<_> = store.list(None).try_collect().await?;
        verified.unexpected = all
            .iter()
            .map(|object| object.location.to_string())
            .filter(|name| !known.contains(&name.as_str()) && !parts.contains_key(name))
            .collect();
        Ok(verified)
    })
}

impl Verified {
    fn count(&mut self, file: &Bytes) {
        self.files += 1;
        self.bytes += file.len() as u64;
    }

    fn missing(&mut self, name: &str) {
        self.findings.push(Finding::Missing(name.to_owned()));
    }

    fn changed(&mut self, name: &str) {
        self.findings.push(Finding::Changed(name.to_owned()));
    }

    /// Compares the manifest and the checksums.
    fn check_lists(&mut self, list: &Bytes, manifest: Option<&Manifest>, sums: Option<&Bytes>) {
        let Some(sums) = sums else {
            return self.missing(CHECKSUMS);
        };
        self.count(sums);
        let first = format!("{}  {MANIFEST}\n", sha256(list));
        match manifest {
            Some(manifest) if sums.starts_with(first.as_bytes()) => {
                if manifest.checksums().as_bytes() != sums {
                    self.changed(CHECKSUMS);
                }
            }
            _ => self.changed(MANIFEST),
        }
    }
}

async fn check_part(
    verified: &mut Verified,
    store: &dyn ObjectStore,
    name: &str,
    digest: &str,
    bytes: Option<u64>,
) -> Result<(), BackupError> {
    let Some(file) = place::read(store, name).await? else {
        verified.missing(name);
        return Ok(());
    };
    verified.count(&file);
    let length = file.len() as u64;
    let checking =
        partita_rt::threads::spawn_blocking(move || (sha256(&file), Part::decode(&file)));
    let checked = checking.await;
    let (found, part) = checked.map_err(|error| BackupError::Damaged(error.to_string()))?;
    match (bytes, part) {
        (_, Ok(part)) if found == digest => verified.rows += user_rows(&part.rows),
        (Some(bytes), _) if length < bytes => {
            let short = Finding::Short(name.to_owned(), length, bytes);
            verified.findings.push(short);
        }
        _ => verified.changed(name),
    }
    Ok(())
}

/// Parses the parts and checksums in the format of `sha256sum`.
fn parse_sums(sums: &[u8]) -> BTreeMap<String, (String, Option<u64>)> {
    let text = String::from_utf8_lossy(sums);
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    let parts = lines.filter(|(_, name)| *name != MANIFEST && Path::parse(name).is_ok());
    parts
        .map(|(digest, name)| (name.to_owned(), (digest.to_owned(), None)))
        .collect()
}
