//! Reads one entity from JSON, and says where it is invalid.

use super::super::{FormatError, Place};
use super::entity::entity;
use super::explain::explain;
use partita_client::Entity;

/// A position in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Position {
    /// The line, from 1.
    pub(in super::super) line: u64,
    /// The character in the line, from 1.
    pub(in super::super) column: u64,
}

impl Position {
    /// The first character of a line.
    pub(in super::super) const fn line(line: u64) -> Self {
        Self { line, column: 1 }
    }

    /// Moves the position behind these bytes of UTF-8.
    pub(in super::super) fn advance(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => *self = Self::line(self.line + 1),
                // The later bytes of a character.
                0x80..0xC0 => {}
                _ => self.column += 1,
            }
        }
    }

    /// The position as the place of an error.
    pub(in super::super) const fn place(self) -> Place {
        Place::Line {
            line: self.line,
            column: Some(self.column),
        }
    }
}

/// Reads the entity that a JSON object describes. The object begins at `start` of its file.
///
/// # Errors
/// [`FormatError::Row`].
pub(in super::super) fn read_row(body: &[u8], start: Position) -> Result<Entity, FormatError> {
    partita_wire::table::read_row(body, entity).map_err(|failure| {
        let (offset, what) = explain(body, &failure);
        let mut at = start;
        at.advance(body.get(..offset).unwrap_or(body));
        FormatError::row(at.place(), what)
    })
}
