//! The manifest: the list of the files of a backup.

use bytes::Bytes;
use partita_model::DateTime;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::BackupError;
use crate::{SnapshotName, SnapshotRecord};
use partita_cluster::{check_starts, key_text};

const FORMAT: u32 = 1;

/// The snapshot that a backup was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The snapshot's name.
    pub name: SnapshotName,
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// The creation time.
    pub created: DateTime,
}

impl Origin {
    pub(super) fn of(record: &SnapshotRecord) -> Self {
        Self {
            name: record.name.clone(),
            id: record.id.clone(),
            created: record.created,
        }
    }

    /// The id as bytes; zero for an invalid id.
    pub(super) fn id_bytes(&self) -> [u8; 16] {
        u128::from_str_radix(&self.id, 16)
            .unwrap_or_default()
            .to_be_bytes()
    }
}

/// The content of `begun.json`, the first object that is written of a backup: names the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begun {
    pub(super) format: u32,
    pub(super) snapshot: Origin,
}

/// The content of `backup.json`: the snapshot and the parts of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// The format of the backup.
    pub(super) format: u32,
    /// The snapshot that the backup was made from.
    pub(super) snapshot: Origin,
    /// The first keys of the ranges of the snapshot, in order.
    pub(super) starts: Vec<Start>,
    /// The parts, in key order.
    pub(super) parts: Vec<PartEntry>,
    /// Rows in all parts.
    pub(super) rows: u64,
    /// Bytes of the keys and values of all rows.
    pub(super) row_bytes: u64,
}

/// The first key of a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Start(#[serde(with = "key_text")] pub(super) Bytes);

/// One file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartEntry {
    /// The name of the object.
    pub(super) name: String,
    /// The size of the object.
    pub(super) bytes: u64,
    /// The SHA-256 of the object, in hexadecimal.
    pub(super) sha256: String,
    /// The number of rows in the object.
    pub(super) rows: u64,
}

impl Begun {
    pub(super) fn new(snapshot: Origin) -> Self {
        let format = FORMAT;
        Self { format, snapshot }
    }
}

impl Manifest {
    pub(super) fn new(record: &SnapshotRecord) -> Self {
        let starts = record.ranges.iter();
        Self {
            format: FORMAT,
            snapshot: Origin::of(record),
            starts: starts.map(|range| Start(range.start.clone())).collect(),
            parts: Vec::new(),
            rows: 0,
            row_bytes: 0,
        }
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BackupError> {
        let damaged = |what: String| BackupError::Damaged(format!("{}: {what}", super::MANIFEST));
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(damaged(format!("unknown format {}", manifest.format)));
        }
        let named = |(at, part): (usize, &PartEntry)| part.name == part_name(at as u64 + 1);
        if !manifest.parts.iter().enumerate().all(named) {
            return Err(damaged("the parts are not in order".to_owned()));
        }
        check_starts(manifest.starts.iter().map(|start| &start.0))
            .map_err(|why| damaged(why.to_owned()))?;
        Ok(manifest)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        pretty(self)
    }

    /// The checksums of the manifest and of all parts, in the format of `sha256sum`.
    pub(super) fn checksums(&self) -> String {
        let mut text = format!("{}  {}\n", sha256(&self.bytes()), super::MANIFEST);
        for part in &self.parts {
            text.push_str(&format!("{}  {}\n", part.sha256, part.name));
        }
        text
    }
}

/// The name of a part, counted from 1.
pub(super) fn part_name(number: u64) -> String {
    format!("rows/{number:08}.part")
}

pub(super) fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("the types are serializable as JSON");
    bytes.push(b'\n');
    bytes
}

/// A checksum in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        Manifest {
            format: FORMAT,
            snapshot: Origin {
                name: "nightly".parse().unwrap(),
                id: "5f0c8a1e9b7d4c3f2a6e8d1b0c9f7a5e".to_owned(),
                created: DateTime::parse("2026-11-21T03:00:00.5Z").unwrap(),
            },
            starts: vec![Start(Bytes::new()), Start(Bytes::from_static(b" a\0"))],
            parts: vec![PartEntry {
                name: part_name(1),
                bytes: 4096,
                sha256: sha256(b""),
                rows: 17,
            }],
            rows: 17,
            row_bytes: 20_000,
        }
    }

    #[test]
    fn the_manifest_matches_the_format_document() {
        let text = String::from_utf8(example().bytes()).unwrap();
        let document = include_str!("../../../../docs/format/backup.md");
        assert!(document.contains(text.trim_end()), "{text}");
        assert_eq!(Manifest::parse(text.as_bytes()).unwrap(), example());
    }

    #[test]
    fn invalid_manifests_are_refused() {
        type Spoil = fn(&mut Manifest);
        let cases: [Spoil; 4] = [
            |manifest| manifest.format = 2,
            |manifest| manifest.parts[0].name = "../x".to_owned(),
            |manifest| manifest.starts.reverse(),
            |manifest| manifest.starts.clear(),
        ];
        for spoil in cases {
            let mut manifest = example();
            spoil(&mut manifest);
            let refused = Manifest::parse(&manifest.bytes());
            assert!(matches!(refused, Err(BackupError::Damaged(_))));
        }
        assert!(Manifest::parse(b"{").is_err());
    }
}
