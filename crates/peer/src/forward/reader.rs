//! Reads the parts of a message, with limits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::limits::{HEADERS_MAX, LONG_BYTES_MAX, NAME_BYTES_MAX};

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It ends too early.
    #[error("the message ends before its {0}")]
    Truncated(&'static str),
    /// A part is longer than its limit.
    #[error("the {0} is longer than its limit")]
    TooLong(&'static str),
    /// A part has a value without a meaning.
    #[error("the {0} has an unknown value, {1}")]
    Unknown(&'static str, u8),
    /// A text is not UTF-8.
    #[error("the {0} is not UTF-8")]
    NotText(&'static str),
    /// There are bytes behind the last part.
    #[error("the message has {0} bytes too many")]
    Trailing(usize),
    /// Another version.
    #[error("the message has version {0}: upgrade the older of the two servers")]
    Version(u8),
}

/// Reads the parts of a message.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// A reader behind the version, which must be `version`.
    pub(crate) fn new(bytes: &'a [u8], version: u8) -> Result<Self, DecodeError> {
        let mut input = Self(bytes);
        match input.byte("version")? {
            found if found == version => Ok(input),
            other => Err(DecodeError::Version(other)),
        }
    }

    /// Checks that everything was read.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            more => Err(DecodeError::Trailing(more)),
        }
    }

    /// Whether everything was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, what: &'static str, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .0
            .split_at_checked(len)
            .ok_or(DecodeError::Truncated(what))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or(DecodeError::Truncated(what))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(crate) fn flag(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        match self.byte(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::Unknown(what, other)),
        }
    }

    pub(crate) fn optional_u64(&mut self, what: &'static str) -> Result<Option<u64>, DecodeError> {
        Ok(if self.flag(what)? {
            Some(self.u64(what)?)
        } else {
            None
        })
    }

    pub(crate) fn bytes(
        &mut self,
        what: &'static str,
        max: usize,
    ) -> Result<&'a [u8], DecodeError> {
        let len = self.u32(what)? as usize;
        if len > max {
            return Err(DecodeError::TooLong(what));
        }
        self.take(what, len)
    }

    pub(crate) fn text(&mut self, what: &'static str, max: usize) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes(what, max)?;
        std::str::from_utf8(bytes).map_err(|_| DecodeError::NotText(what))
    }

    pub(crate) fn address(&mut self, what: &'static str) -> Result<Option<IpAddr>, DecodeError> {
        Ok(match self.byte(what)? {
            0 => None,
            4 => Some(Ipv4Addr::from(self.array::<4>(what)?).into()),
            6 => Some(Ipv6Addr::from(self.array::<16>(what)?).into()),
            other => return Err(DecodeError::Unknown(what, other)),
        })
    }

    pub(crate) fn headers(&mut self) -> Result<Vec<(&'a str, &'a [u8])>, DecodeError> {
        let count = usize::from(self.u16("number of headers")?);
        if count > HEADERS_MAX {
            return Err(DecodeError::TooLong("list of headers"));
        }
        let mut headers = Vec::with_capacity(count);
        for _ in 0..count {
            let name = self.text("header name", NAME_BYTES_MAX)?;
            headers.push((name, self.bytes("header value", LONG_BYTES_MAX)?));
        }
        Ok(headers)
    }
}
