//! Reading every file of a backup, and comparing.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::TryStreamExt as _;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use object_store::path::Path;
use partita_rt::place;

use super::manifest::{Begun, Manifest, pretty, sha256};
use super::part::Part;
use super::{BEGUN, BackupError, CHECKSUMS, MANIFEST, Progress};

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It is not there.
    Missing(String),
    /// It is shorter than it was: name, bytes, bytes there should be.
    Short(String, u64, u64),
    /// It has other bytes than it had.
    Changed(String),
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Files that were read.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Rows in the parts that are whole.
    pub rows: u64,
    /// What is wrong; nothing if the backup is as it was made.
    pub findings: Vec<Finding>,
    /// Files that are no part of it.
    pub strangers: Vec<String>,
}

/// Reads every file of a backup and compares it with the list and the checksums. The list and the checksums vouch for each other:
/// where they differ, both are looked at, and the list is said to be changed. `note` is told the bytes of files read so far.
///
/// # Errors
/// [`BackupError::NotThere`]; [`BackupError::Store`].
pub fn verify<'a>(
    store: &'a dyn ObjectStore,
    note: &'a (dyn Fn(Progress) + Sync),
) -> BoxFuture<'a, Result<Verified, BackupError>> {
    Box::pin(async move {
        let mut verified = Verified::default();
        let list = place::read(store, MANIFEST).await?;
        let list = list.ok_or(BackupError::NotThere)?;
        let manifest = Manifest::parse(&list).ok();
        let sums = place::read(store, CHECKSUMS).await?;
        let begun = place::read(store, BEGUN).await?;
        verified.count(&list);
        check_lists(&mut verified, &list, manifest.as_ref(), sums.as_deref());
        match (&begun, &manifest) {
            (None, _) => verified.findings.push(Finding::Missing(BEGUN.to_owned())),
            (Some(told), Some(manifest)) => {
                verified.count(told);
                if told.as_ref() != pretty(&Begun::new(manifest.snapshot.clone())) {
                    verified.findings.push(Finding::Changed(BEGUN.to_owned()));
                }
            }
            (Some(_), None) => {}
        }
        // What the list says, or, if it cannot be read, the checksums.
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
        verified.strangers = all
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
}

fn check_lists(
    verified: &mut Verified,
    list: &Bytes,
    manifest: Option<&Manifest>,
    sums: Option<&[u8]>,
) {
    let Some(sums) = sums else {
        verified
            .findings
            .push(Finding::Missing(CHECKSUMS.to_owned()));
        return;
    };
    verified.files += 1;
    verified.bytes += sums.len() as u64;
    let first = format!("{}  {MANIFEST}\n", sha256(list));
    if manifest.is_none() || !sums.starts_with(first.as_bytes()) {
        verified
            .findings
            .push(Finding::Changed(MANIFEST.to_owned()));
    } else if manifest.is_some_and(|manifest| manifest.checksums().as_bytes() != sums) {
        verified
            .findings
            .push(Finding::Changed(CHECKSUMS.to_owned()));
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
        verified.findings.push(Finding::Missing(name.to_owned()));
        return Ok(());
    };
    verified.count(&file);
    let length = file.len() as u64;
    let checking =
        partita_rt::threads::spawn_blocking(move || (sha256(&file), Part::decode(&file)));
    let checked = checking.await;
    let (found, part) = checked.map_err(|error| BackupError::Damaged(error.to_string()))?;
    match (bytes, part) {
        (_, Ok(part)) if found == digest => verified.rows += part.rows.len() as u64,
        (Some(bytes), _) if length < bytes => {
            let short = Finding::Short(name.to_owned(), length, bytes);
            verified.findings.push(short);
        }
        _ => verified.findings.push(Finding::Changed(name.to_owned())),
    }
    Ok(())
}

/// The parts and their checksums, as `sha256sum` writes them.
fn parse_sums(sums: &[u8]) -> BTreeMap<String, (String, Option<u64>)> {
    let text = String::from_utf8_lossy(sums);
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    let parts = lines.filter(|(_, name)| *name != MANIFEST && Path::parse(name).is_ok());
    parts
        .map(|(digest, name)| (name.to_owned(), (digest.to_owned(), None)))
        .collect()
}
