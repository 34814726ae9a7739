//! Writes the parts of a message.

use std::net::IpAddr;

/// Writes the parts of a message.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Bytes with their length. A part of 4 GiB cannot exist: the reader's limits are far below, and refuse it.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn optional_u64(&mut self, value: Option<u64>) {
        self.byte(value.is_some().into());
        if let Some(value) = value {
            self.u64(value);
        }
    }

    pub(crate) fn address(&mut self, address: Option<IpAddr>) {
        match address {
            None => self.byte(0),
            Some(IpAddr::V4(address)) => {
                self.byte(4);
                self.raw(&address.octets());
            }
            Some(IpAddr::V6(address)) => {
                self.byte(6);
                self.raw(&address.octets());
            }
        }
    }

    pub(crate) fn headers(&mut self, headers: &[(&str, &[u8])]) {
        self.u16(u16::try_from(headers.len()).unwrap_or(u16::MAX));
        for (name, value) in headers {
            self.text(name);
            self.bytes(value);
        }
    }
}
