//! The case of the names of metadata: the services keep it, but hyper knows the names of headers in lower case only.
//!
//! So a connection notes how its client spells the names that it sends, and respells the names in the heads of answers.
//! Both spellings of a name have the same length. Names are equal without case, so a name in lower case is never wrong:
//! this is what remains of a name that a partial write divides, or of one that a client sends before it has the answer
//! to its last request.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The beginning of the headers with metadata.
const PREFIX: &[u8] = b"x-ms-meta-";

/// The maximum bytes of the names that a connection keeps: twice what one request may have.
const NAMES_BYTES_MAX: usize = 2 * partita_model::METADATA_BYTES_MAX;

/// How the headers with metadata of one connection are spelled.
#[derive(Debug, Default)]
pub(super) struct Spellings(Mutex<Names>);

#[derive(Debug, Default)]
struct Names {
    /// The current line as far as it is the name of such a header; `None` for another line.
    line: Option<Vec<u8>>,
    /// Names with capitals as received, the newest last.
    received: VecDeque<String>,
    /// Names with capitals of the answer that is being written.
    sent: Vec<String>,
}

impl Spellings {
    /// The name of a header as the client wrote it.
    pub(super) fn received(&self, name: &str) -> Option<String> {
        let names = self.0.lock();
        let mut newest_first = names.received.iter().rev();
        newest_first
            .find(|other| other.eq_ignore_ascii_case(name))
            .cloned()
    }

    /// Notes a name as another server of the cluster has received it.
    pub(super) fn note(&self, name: &str) {
        self.0.lock().note(name.to_owned().into_bytes());
    }

    /// The name of a header as it is to be sent.
    pub(super) fn sent(&self, name: &str) -> Option<String> {
        let names = self.0.lock();
        let mut sent = names.sent.iter();
        sent.find(|other| other.eq_ignore_ascii_case(name)).cloned()
    }

    /// Gives the name of a header in the next answer this spelling.
    pub(super) fn send(&self, name: &str) {
        if has_capitals(name.as_bytes()) {
            self.0.lock().sent.push(name.to_owned());
        }
    }

    /// Notes the names in received bytes.
    fn receive(&self, bytes: &[u8]) {
        let mut names = self.0.lock();
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            let Some(line) = &mut names.line else {
                let Some(end) = memchr::memchr(b'\n', rest) else {
                    return;
                };
                rest = rest.get(end + 1..).unwrap_or_default();
                names.line = Some(Vec::new());
                continue;
            };
            rest = after;
            let fits = match PREFIX.get(line.len()) {
                Some(expected) => byte.eq_ignore_ascii_case(expected),
                None => {
                    line.len() < NAMES_BYTES_MAX && (byte.is_ascii_alphanumeric() || byte == b'_')
                }
            };
            if fits {
                line.push(byte);
            } else if byte == b'\n' {
                line.clear();
            } else {
                let line = names.line.take().unwrap_or_default();
                if byte == b':' && line.len() > PREFIX.len() {
                    names.note(line);
                }
            }
        }
    }

    /// The bytes of an answer with its spellings; `None` if it has no name with capitals.
    fn respelled(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let names = self.0.lock();
        if names.sent.is_empty() {
            return None;
        }
        let mut respelled = bytes.to_vec();
        for name in &names.sent {
            let line = format!("\r\n{}:", name.to_ascii_lowercase());
            if let Some(at) = memchr::memmem::find(&respelled, line.as_bytes())
                && let Some(place) = respelled.get_mut(at + 2..at + 2 + name.len())
            {
                place.copy_from_slice(name.as_bytes());
            }
        }
        Some(respelled)
    }

    /// Ends the spellings of an answer when its head has been written.
    fn wrote(&self, bytes: &[u8]) {
        if memchr::memmem::find(bytes, b"\r\n\r\n").is_some() {
            self.0.lock().sent.clear();
        }
    }
}

impl Names {
    fn note(&mut self, name: Vec<u8>) {
        let Ok(name) = String::from_utf8(name) else {
            return;
        };
        self.received
            .retain(|other| !other.eq_ignore_ascii_case(&name));
        if has_capitals(name.as_bytes()) {
            self.received.push_back(name);
        }
        let mut bytes: usize = self.received.iter().map(String::len).sum();
        while bytes > NAMES_BYTES_MAX
            && let Some(oldest) = self.received.pop_front()
        {
            bytes -= oldest.len();
        }
    }
}

fn has_capitals(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase)
}

/// A stream that keeps spellings, if its protocol has metadata.
pub(super) struct SpelledStream<S> {
    inner: S,
    spellings: Option<Arc<Spellings>>,
}

impl<S> SpelledStream<S> {
    pub(super) const fn new(inner: S, spellings: Option<Arc<Spellings>>) -> Self {
        Self { inner, spellings }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SpelledStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if let Some(spellings) = &self.spellings {
            spellings.receive(buffer.filled().get(before..).unwrap_or_default());
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SpelledStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let respelled = self.spellings.as_ref().and_then(|it| it.respelled(bytes));
        let Some(respelled) = respelled else {
            return Pin::new(&mut self.inner).poll_write(cx, bytes);
        };
        let polled = Pin::new(&mut self.inner).poll_write(cx, &respelled);
        if let (Poll::Ready(Ok(count)), Some(spellings)) = (&polled, &self.spellings) {
            spellings.wrote(respelled.get(..*count).unwrap_or_default());
        }
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let spells = |spellings: &Arc<Spellings>| !spellings.0.lock().sent.is_empty();
        if self.spellings.as_ref().is_some_and(spells) {
            let first = bytes.iter().find(|slice| !slice.is_empty());
            return self.poll_write(cx, first.map_or(&[], |slice| slice));
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] =
        b"PUT /x-ms-meta-No HTTP/1.1\r\nHost: a\r\nX-MS-Meta-camelCase: X-Ms-Meta-B: 1\r\n\
        x-ms-meta-lower: 1\r\nx-ms-meta-: 1\r\nx-ms-meta-A b: 1\r\nx-ms-meta-Last:1\r\n\r\nbody";

    #[test]
    fn names_are_noted_wherever_the_bytes_are_divided() {
        for size in 1..=HEAD.len() {
            let spellings = Spellings::default();
            HEAD.chunks(size).for_each(|part| spellings.receive(part));
            let received = |name| spellings.received(name);
            assert_eq!(
                received("x-ms-meta-camelcase").unwrap(),
                "X-MS-Meta-camelCase"
            );
            assert_eq!(received("x-ms-meta-last").unwrap(), "x-ms-meta-Last");
            assert_eq!(spellings.0.lock().received.len(), 2, "{size}");
        }
    }

    #[test]
    fn the_newest_spelling_counts_and_memory_is_bounded() {
        let spellings = Spellings::default();
        for number in 0..2_000 {
            spellings
                .receive(format!("\nx-ms-meta-Name{number}: x\nx-ms-meta-{}: x", "Ab").as_bytes());
        }
        spellings.receive(b"\nx-ms-meta-aB: x");
        assert_eq!(spellings.received("x-ms-meta-ab").unwrap(), "x-ms-meta-aB");
        assert!(spellings.received("x-ms-meta-name1999").is_some());
        assert!(spellings.received("x-ms-meta-name0").is_none());
        spellings.receive(b"\nX-MS-META-AB: x");
        spellings.receive(b"\nx-ms-meta-ab: x");
        assert_eq!(spellings.received("x-ms-meta-ab"), None);
        let kept: usize = spellings.0.lock().received.iter().map(String::len).sum();
        assert!(kept <= NAMES_BYTES_MAX);
        spellings.receive(&[b'\n'; 10]);
        spellings.receive(&PREFIX.repeat(10_000));
        let line = spellings.0.lock().line.as_ref().map_or(0, Vec::len);
        assert!(line <= NAMES_BYTES_MAX);
    }

    #[test]
    fn a_head_is_respelled_once() {
        let spellings = Spellings::default();
        let head = b"HTTP/1.1 200 OK\r\nx-ms-meta-ab: x-ms-meta-ab:\r\nx-ms-meta-abc: 1\r\n\r\n";
        assert_eq!(spellings.respelled(head), None);
        spellings.send("x-ms-meta-lower");
        assert_eq!(spellings.respelled(head), None);
        spellings.send("x-ms-meta-aB");
        let respelled = spellings.respelled(head).unwrap();
        let text = String::from_utf8(respelled.clone()).unwrap();
        assert!(
            text.contains("\r\nx-ms-meta-aB: x-ms-meta-ab:\r\nx-ms-meta-abc: 1\r\n"),
            "{text}"
        );
        spellings.wrote(&respelled[..20]);
        assert!(spellings.respelled(head).is_some());
        spellings.wrote(&respelled);
        assert_eq!(spellings.respelled(head), None);
    }
}
