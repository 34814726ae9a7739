//! Verifies the files of an open WAL, so that damage is found before a start needs them.
//!
//! Only files that nothing writes: the full segments, and the head while it is locked. The current segment is left out.
//! Its records are also in memory, and reading it would race with its writes.

use std::io;
use std::path::Path;

use super::format::HeadRecord;
use super::head::Head;
use super::reader::{self, Position};
use crate::OpenWalError;
use crate::retention::Contents;

/// What is wrong with a full segment, which was written with these records. `None` also after a read failure that may
/// be temporary.
pub(super) fn segment_problem(path: &Path, number: u64, written: &Contents) -> Option<String> {
    // The number of the segment's first group is not known. Segments without records are not verified.
    let position = Position {
        next_group: 1,
        any_group: true,
    };
    let read = reader::read_segment(path, number).and_then(|(segment, content)| {
        reader::read_records(path, segment.header.salt, &content, position)
    });
    let read = match read {
        Ok(read) => read,
        Err(error) => return problem(&error),
    };
    let mut found = Contents::default();
    for record in &read.records {
        found.add(record.header.range, record.header.wal_id);
    }
    (found != *written).then(|| "acknowledged records at its end are missing".to_owned())
}

/// What is wrong with the head in `directory`, which was last written with `written`.
pub(super) fn head_problem(directory: &Path, written: &HeadRecord) -> Option<String> {
    match Head::read(directory) {
        // A failed update may have been written to the file nevertheless.
        Ok(Some(head)) if head.record().update >= written.update => None,
        Ok(Some(_)) => Some("its newest slot fails its checksum".to_owned()),
        Ok(None) => Some("it is missing".to_owned()),
        Err(error) => problem(&error),
    }
}

fn problem(error: &OpenWalError) -> Option<String> {
    match error {
        OpenWalError::Missing { what, .. } | OpenWalError::Damaged { what, .. } => {
            Some((*what).to_owned())
        }
        OpenWalError::UnknownVersion { found, .. } => Some(format!("it has WAL format {found}")),
        OpenWalError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            Some("it is missing".to_owned())
        }
        OpenWalError::Io(_) | OpenWalError::Fenced { .. } | OpenWalError::Ended { .. } => None,
    }
}
