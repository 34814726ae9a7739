//! [`Source`]: the input of the CSV library. It limits a record, and counts lines.
//!
//! The library counts lines, too, but the position of a record may be that of an empty line before it.

use std::collections::VecDeque;
use std::io::{self, Read};

/// An input that fails after a number of bytes of one record.
pub(super) struct Source<R> {
    input: R,
    /// The number of bytes that may still be read for the current record.
    left: usize,
    /// The number of bytes read.
    bytes: u64,
    /// The number of line feeds that have been passed, and the positions of those that were read ahead.
    passed: u64,
    ahead: VecDeque<u64>,
}

impl<R: Read> Source<R> {
    /// The first record may have this number of bytes.
    pub(super) fn new(input: R, bytes_max: usize) -> Self {
        Self {
            input,
            left: bytes_max,
            bytes: 0,
            passed: 0,
            ahead: VecDeque::new(),
        }
    }

    /// Allows this number of bytes for the next record.
    pub(super) fn begin_record(&mut self, bytes_max: usize) {
        self.left = bytes_max;
    }

    /// Whether the current record is too long.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// The line, from 1, of the byte at this position. Positions must not decrease.
    pub(super) fn line_at(&mut self, position: u64) -> u64 {
        while self.ahead.pop_front_if(|at| *at < position).is_some() {
            self.passed += 1;
        }
        self.passed + 1
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the record is too long",
            ));
        }
        let read = self.input.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        let taken = buffer.get(..read).unwrap_or_default();
        let feeds = taken.iter().zip(self.bytes..);
        let feeds = feeds.filter(|(byte, _)| **byte == b'\n');
        self.ahead.extend(feeds.map(|(_, at)| at));
        self.bytes += read as u64;
        Ok(read)
    }
}
