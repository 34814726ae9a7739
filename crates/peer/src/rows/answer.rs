//! The answer to a request for rows.

use super::VERSION;
use crate::forward::Tenure;
use crate::forward::limits::{LONG_BYTES_MAX, NAME_BYTES_MAX};
use crate::forward::reader::{DecodeError, Reader};
use crate::forward::writer::Writer;

/// The answer to a request for rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsAnswer<'a> {
    /// Not executed, because the receiver does not serve the range. The newest tenure that it knows.
    NotHere(Tenure),
    /// The row is absent, or it is the body.
    Row {
        /// Whether it exists.
        exists: bool,
        /// How long the sender may use it, in microseconds; 0 without a lease.
        lease_us: u64,
    },
    /// The rows are the body.
    Page {
        /// Where the scan continues; nothing at its end.
        next: Option<&'a [u8]>,
    },
    /// Whether the changes were made.
    Written(bool),
    /// Not executed now.
    Busy {
        /// The reason code.
        reason: &'a str,
        /// The details.
        detail: &'a str,
    },
    /// The write is too large.
    TooLarge,
    /// The write may have happened.
    Unknown,
    /// Stored bytes cannot be read.
    Corrupt(&'a str),
}

impl<'a> RowsAnswer<'a> {
    /// The bytes of the head. Texts are cut to their limit.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::with_capacity(64);
        out.byte(VERSION);
        match self {
            Self::NotHere(tenure) => {
                out.byte(0);
                out.u64(tenure.0);
            }
            Self::Row { exists, lease_us } => {
                out.byte(1);
                out.byte((*exists).into());
                out.u64(*lease_us);
            }
            Self::Page { next } => {
                out.byte(2);
                out.byte(next.is_some().into());
                out.bytes(next.unwrap_or_default());
            }
            Self::Written(done) => {
                out.byte(3);
                out.byte((*done).into());
            }
            Self::Busy { reason, detail } => {
                out.byte(4);
                out.text(cut(reason));
                out.text(cut(detail));
            }
            Self::TooLarge => out.byte(5),
            Self::Unknown => out.byte(6),
            Self::Corrupt(text) => {
                out.byte(7);
                out.text(cut(text));
            }
        }
        out.finish()
    }

    /// Reads the bytes of a head.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut input = Reader::new(bytes, VERSION)?;
        let answer = match input.byte("kind of answer")? {
            0 => Self::NotHere(Tenure(input.u64("tenure")?)),
            1 => Self::Row {
                exists: input.flag("existence")?,
                lease_us: input.u64("lease")?,
            },
            2 => {
                let has_next = input.flag("continuation")?;
                let next = input.bytes("continuation", LONG_BYTES_MAX)?;
                Self::Page {
                    next: has_next.then_some(next),
                }
            }
            3 => Self::Written(input.flag("outcome")?),
            4 => Self::Busy {
                reason: input.text("reason", NAME_BYTES_MAX)?,
                detail: input.text("detail", NAME_BYTES_MAX)?,
            },
            5 => Self::TooLarge,
            6 => Self::Unknown,
            7 => Self::Corrupt(input.text("damage", NAME_BYTES_MAX)?),
            other => return Err(DecodeError::Unknown("kind of answer", other)),
        };
        input.finish()?;
        Ok(answer)
    }
}

/// The beginning of a text that is not longer than its limit.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}
