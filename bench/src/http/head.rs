//! The head of an answer.

use anyhow::{Context, bail};

/// Maximum size of a head in bytes. The heads of the measured servers have about 500.
const HEAD_BYTES_MAX: usize = 16 * 1_024;

/// How long the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyLength {
    /// This number of bytes.
    Bytes(u64),
    /// Chunked transfer coding.
    Chunked,
}

/// The fields of an answer's head that the driver uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// HTTP status.
    pub(crate) status: u16,
    /// How the body ends.
    pub(crate) body: BodyLength,
    /// Whether the server closes the connection after this answer.
    pub(crate) close: bool,
    /// Bytes of the head with its blank line.
    pub(crate) bytes: usize,
}

impl Head {
    /// Reads a head at the start of `input`; `None` when it is not complete yet.
    ///
    /// # Errors
    /// When the bytes are not an HTTP/1.1 answer or the head is longer than 16 KiB.
    pub(crate) fn parse(input: &[u8]) -> anyhow::Result<Option<Self>> {
        let mut head = Self {
            status: 0,
            body: BodyLength::Bytes(0),
            close: false,
            bytes: 0,
        };
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', input) {
            let from = std::mem::replace(&mut start, end + 1);
            let line = || {
                let line = input.get(from..end).unwrap_or_default();
                line.strip_suffix(b"\r").unwrap_or(line)
            };
            // Only Content-Length, Connection and Transfer-Encoding matter. Their first letters exclude most other
            // fields.
            match input.get(from) {
                _ if head.status == 0 => head.status = status(line())?,
                Some(b'C' | b'c' | b'T' | b't') => head.field(line())?,
                Some(b'\r' | b'\n') if line().is_empty() => {
                    head.bytes = start;
                    return Ok(Some(head));
                }
                _ => {}
            }
        }
        if input.len() > HEAD_BYTES_MAX {
            bail!("head longer than {HEAD_BYTES_MAX} bytes");
        }
        Ok(None)
    }

    fn field(&mut self, line: &[u8]) -> anyhow::Result<()> {
        if let Some(value) = value(line, b"content-length") {
            let bytes = number(value).context("content-length is not a number")?;
            self.body = BodyLength::Bytes(bytes);
        } else if value(line, b"transfer-encoding").is_some() {
            self.body = BodyLength::Chunked;
        } else if let Some(value) = value(line, b"connection") {
            self.close = value.eq_ignore_ascii_case(b"close");
        }
        Ok(())
    }
}

/// The value in a header line; `None` if the line has another name.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    let value = value.strip_prefix(b":")?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// A decimal number.
fn number(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    let is_empty = digits.is_empty();
    digits.iter().try_fold(0, add).filter(|_| !is_empty)
}

/// Finds a header by name in a complete head; for the blocking client, off the hot path.
pub(crate) fn find_header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    std::str::from_utf8(head)
        .ok()?
        .split("\r\n")
        .skip(1)
        .find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
}

fn status(line: &[u8]) -> anyhow::Result<u16> {
    let digits = line.strip_prefix(b"HTTP/1.1 ");
    digits
        .and_then(|rest| number(rest.get(..3)?))
        .and_then(|status| u16::try_from(status).ok())
        .with_context(|| format!("not a status line: {}", String::from_utf8_lossy(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_length_and_status_only_when_complete() {
        let text =
            b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH: 42\r\nConnection: close\r\n\r\nrest";
        for cut in 0..text.len() - 4 {
            assert_eq!(Head::parse(&text[..cut]).unwrap(), None, "cut at {cut}");
        }
        let head = Head::parse(text).unwrap().unwrap();
        assert_eq!(head.status, 200);
        assert_eq!(head.body, BodyLength::Bytes(42));
        assert!(head.close);
        assert_eq!(head.bytes, text.len() - 4);
        assert_eq!(find_header(text, "Content-Length"), Some("42"));
        assert_eq!(find_header(text, "etag"), None);
    }

    #[test]
    fn refuses_what_is_not_http() {
        assert!(Head::parse(b"SSH-2.0-OpenSSH\r\n").is_err());
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n").is_err());
        assert!(Head::parse(&vec![b'a'; HEAD_BYTES_MAX + 1]).is_err());
    }
}
