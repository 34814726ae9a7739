//! A file of the WAL.

use std::fs::File;

use super::format::SegmentHeader;
use crate::retention::{Contents, Retained};
use crate::{RangeId, WalId};

/// A file of the WAL whose header is on the disk under its final name.
#[derive(Debug)]
pub(super) struct Segment {
    file: File,
    header: SegmentHeader,
    contents: Contents,
}

impl Segment {
    pub(super) fn new(file: File, header: SegmentHeader) -> Self {
        Self {
            file,
            header,
            contents: Contents::default(),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    pub(super) fn number(&self) -> u64 {
        self.header.number
    }

    pub(super) fn salt(&self) -> u64 {
        self.header.salt
    }

    /// Notes that it holds this record.
    pub(super) fn add_record(&mut self, range: RangeId, wal_id: WalId) {
        self.contents.add(range, wal_id);
    }
}

impl Retained for Segment {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn bytes(&self) -> u64 {
        self.header.bytes
    }
}
