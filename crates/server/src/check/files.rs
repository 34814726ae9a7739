//! Files of a data directory that no part of the server needs: leftovers, removed databases, unknown files.

use super::finding::Finding;
use crate::check::Severity;
use partita_rt::data_dir::StoredFile;
use std::collections::{BTreeMap, BTreeSet};

/// What a file is, by its name.
enum Purpose {
    /// A file that the server reads or writes.
    Known,
    /// A file that an interrupted write left behind.
    Unfinished,
    /// A file of a removed database; the value is the folder of the database.
    Trash(String),
    /// A data file that no manifest names; the value is its folder.
    Unread(String),
    /// Not a file of this server.
    Unknown,
}

/// The findings of files that are not in `known`.
pub(super) fn unexplained(files: &[StoredFile], known: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut trash, mut unread) = (BTreeMap::new(), BTreeMap::new());
    for file in files.iter().filter(|file| !known.contains(&file.path)) {
        match purpose(&file.path) {
            Purpose::Known => {}
            Purpose::Unfinished => findings.push(Finding::note(
                &file.path,
                "is an interrupted write",
                "the next start removes it",
            )),
            Purpose::Trash(folder) => count(&mut trash, folder, file.bytes),
            Purpose::Unread(folder) => count(&mut unread, folder, file.bytes),
            Purpose::Unknown => findings.push(Finding::note(
                &file.path,
                "is not a file of the server",
                "the server ignores it; it can be deleted",
            )),
        }
    }
    findings.extend(trash.into_iter().map(|(folder, (files, bytes))| {
        let problem = format!("is a removed database of {files} files and {bytes} bytes");
        let meaning = "maintenance deletes it; until then it can be moved back";
        Finding::note(folder, &problem, meaning)
    }));
    findings.extend(unread.into_iter().map(|(folder, (files, bytes))| {
        let problem = format!("has {files} data files of {bytes} bytes that no manifest names");
        Finding::new(
            Severity::Note,
            folder,
            [
                &problem,
                "nothing reads them",
                "garbage collection deletes them",
            ],
        )
    }));
    findings
}

fn count(folders: &mut BTreeMap<String, (u64, u64)>, folder: String, bytes: u64) {
    let (files, sum) = folders.entry(folder).or_default();
    *files += 1;
    *sum += bytes;
}

fn purpose(path: &str) -> Purpose {
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts.last().copied().unwrap_or_default();
    let is_unfinished = |(_, number): (&str, &str)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    match parts[..] {
        ["partita.toml" | "lock"] | ["log", "head"] => Purpose::Known,
        ["partita.toml.new"] => Purpose::Unfinished,
        ["log", _] if name.ends_with(".tmp") => Purpose::Unfinished,
        ["log", _] if is_number(name, ".log") => Purpose::Known,
        ["store", "trash", folder, _, ..] => Purpose::Trash(format!("store/trash/{folder}")),
        ["store", ..] if name.rsplit_once('#').is_some_and(is_unfinished) => Purpose::Unfinished,
        ["store", "map" | "served", _] if is_number(name, ".json") => Purpose::Known,
        ["store", database, ref rest @ ..] if database.starts_with("range-") => match rest {
            ["manifest", _] if is_number(name, ".manifest") => Purpose::Known,
            ["compactions", _] if is_number(name, ".compactions") => Purpose::Known,
            ["gc", _] | [".deleting" | "newest-manifest"] => Purpose::Known,
            ["compacted", _] if name.ends_with(".sst") => {
                Purpose::Unread(format!("store/{database}/compacted"))
            }
            _ => Purpose::Unknown,
        },
        _ => Purpose::Unknown,
    }
}

fn is_number(name: &str, suffix: &str) -> bool {
    let number = name.strip_suffix(suffix);
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str) -> Vec<String> {
        let file = StoredFile {
            path: path.to_owned(),
            bytes: 7,
        };
        let found = unexplained(
            &[file],
            &BTreeSet::from(["store/range-1/compacted/b.sst".into()]),
        );
        found.into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn files_of_the_server_are_known() {
        for path in [
            "lock",
            "partita.toml",
            "log/head",
            "log/00000000000000000042.log",
            "store/map/00000000000000000042.json",
            "store/served/3.json",
            "store/range-1/manifest/00000000000000000042.manifest",
            "store/range-1/compactions/00000000000000000042.compactions",
            "store/range-1/newest-manifest",
            "store/range-1/compacted/b.sst",
        ] {
            assert_eq!(findings(path), [""; 0], "{path}");
        }
    }

    #[test]
    fn other_files_are_named() {
        let cases = [
            ("partita.toml.new", "interrupted write"),
            ("log/new.tmp", "interrupted write"),
            ("store/map/00000000000000000042.json#1", "interrupted write"),
            (
                "store/trash/1700000000-range-4/manifest/1.manifest",
                "removed database of 1 files",
            ),
            ("store/range-1/compacted/a.sst", "1 data files of 7 bytes"),
            ("store/map/notes.txt", "not a file of the server"),
            (
                "log/00000000000000000042.log.bak",
                "not a file of the server",
            ),
            ("notes", "not a file of the server"),
        ];
        for (path, expected) in cases {
            let found = findings(path);
            assert_eq!(found.len(), 1, "{path}");
            assert!(found[0].contains(expected), "{path}: {found:?}");
        }
    }
}
