//! A file of the WAL.

use std::fs::File;

use super::format::SegmentHeader;
use crate::retention::{Contents, Retained};

/// A file of the WAL whose header is on the disk under its final name.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) file: File,
    pub(super) header: SegmentHeader,
    pub(super) contents: Contents,
}

impl Segment {
    pub(super) fn new(file: File, header: SegmentHeader) -> Self {
        Self {
            file,
            header,
            contents: Contents::default(),
        }
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
