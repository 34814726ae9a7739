//! One connection: sends a request and reads its answer, in pieces of any size.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use mio::net::TcpStream;

use crate::http::{BodyReader, Head};

/// Bytes of a wrong answer kept for the message.
const SAMPLE_BYTES: usize = 400;

/// A connection with its request under way.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// The request. The workload may change it between an answer and the next request.
    pub(super) slot: Vec<u8>,
    sent_bytes: usize,
    /// The bytes of an incomplete head.
    partial: Vec<u8>,
    answer: Option<(Head, BodyReader)>,
    /// The start of the current answer, kept only when its status is not the expected one.
    sample: Vec<u8>,
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body_bytes: u64,
    /// The server is about to close the connection.
    pub(super) close: bool,
}

impl Connection {
    pub(super) fn open(addr: SocketAddr) -> anyhow::Result<Self> {
        let stream = std::net::TcpStream::connect_timeout(&addr, Duration::from_secs(5))
            .with_context(|| format!("connecting to {addr}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream: TcpStream::from_std(stream),
            slot: Vec::new(),
            sent_bytes: 0,
            partial: Vec::new(),
            answer: None,
            sample: Vec::new(),
        })
    }

    /// Starts sending the request in the slot.
    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        self.sent_bytes = 0;
        self.sample.clear();
        self.send()
    }

    /// Sends as much of the request as the socket accepts.
    #[inline]
    pub(super) fn send(&mut self) -> anyhow::Result<()> {
        while let Some(rest) = self
            .slot
            .get(self.sent_bytes..)
            .filter(|rest| !rest.is_empty())
        {
            match self.stream.write(rest) {
                Ok(count) => self.sent_bytes += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("sending a request"),
            }
        }
        Ok(())
    }

    /// Reads what has arrived, into a buffer that the connections of a thread share. `Some` when the answer is
    /// complete.
    ///
    /// After a piece that fills the buffer, it reads again. A shorter piece has emptied the socket, so the
    /// edge-triggered wait will report the next piece.
    #[inline]
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> anyhow::Result<Option<Answer>> {
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("receiving an answer"),
            };
            let piece = buffer.get(..count).unwrap_or_default();
            if let Some(answer) = self.take(piece)? {
                return Ok(Some(answer));
            }
            if count < buffer.len() {
                return Ok(None);
            }
        }
    }

    #[inline]
    fn take(&mut self, piece: &[u8]) -> anyhow::Result<Option<Answer>> {
        let mut piece = piece;
        if self.answer.is_none() {
            let before = self.partial.len();
            let parsed = if before == 0 {
                Head::parse(piece)?
            } else {
                self.partial.extend_from_slice(piece);
                Head::parse(&self.partial)?
            };
            let Some(head) = parsed else {
                if before == 0 {
                    self.partial.extend_from_slice(piece);
                }
                return Ok(None);
            };
            if head.status >= 300 {
                self.sample.extend(piece.iter().take(SAMPLE_BYTES));
            }
            self.partial.clear();
            piece = piece.get(head.bytes - before..).unwrap_or_default();
            self.answer = Some((head, BodyReader::new(head.body)));
        }
        let Some((head, body)) = &mut self.answer else {
            return Ok(None);
        };
        let used = body.feed(piece, |_| ())?;
        if !body.is_done() {
            return Ok(None);
        }
        if used < piece.len() {
            bail!("the server sent more than its answer");
        }
        let answer = Answer {
            status: head.status,
            body_bytes: body.content_bytes(),
            close: head.close,
        };
        self.answer = None;
        Ok(Some(answer))
    }

    /// The start of the last answer, when it was an error.
    pub(super) fn sample(&self) -> String {
        String::from_utf8_lossy(&self.sample).into_owned()
    }
}
