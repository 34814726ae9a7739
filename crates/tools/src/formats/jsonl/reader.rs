//! Reads JSON lines.

use super::super::json::{Position, read_row};
use super::super::read_entities::ReadEntities;
use super::super::{FormatError, Place};
use partita_client::Entity;
use std::io::{BufRead, Read as _};

/// Longest line, in bytes. The largest entity takes a little more than 3 MiB if each character is escaped, such as
/// `\u0001`.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Reads entities, one per line. Empty lines are skipped.
pub(in super::super) struct Reader<R> {
    lines: R,
    line: Vec<u8>,
    /// The number of lines read, including empty ones.
    number: u64,
}

impl<R: BufRead> Reader<R> {
    pub(in super::super) fn new(lines: R) -> Self {
        Self {
            lines,
            line: Vec::new(),
            number: 0,
        }
    }
}

impl<R: BufRead + Send> ReadEntities for Reader<R> {
    fn read(&mut self) -> Result<Option<Entity>, FormatError> {
        loop {
            self.line.clear();
            let mut bounded = self.lines.by_ref().take(LINE_BYTES_MAX);
            if bounded.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            if self.line.len() as u64 == LINE_BYTES_MAX && self.line.last() != Some(&b'\n') {
                let what = "the line is longer than 8 MiB";
                return Err(FormatError::row(Place::line(self.number), what));
            }
            let body = self.line.trim_ascii_start();
            let mut start = Position::line(self.number);
            start.column += (self.line.len() - body.len()) as u64;
            return read_row(body.trim_ascii_end(), start).map(Some);
        }
    }
}
