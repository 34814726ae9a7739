//! The body of a request: read, skipped, or left unread.
//!
//! - A body is bounded by the settings, and all bodies together by the memory budget. Memory is reserved as the body
//!   arrives: a Content-Length alone reserves nothing.
//! - An unread body is skipped before the answer is sent, within bounds. Otherwise a client that is still sending would
//!   lose the answer: its bytes reach a closed socket, and the TCP reset arrives before the client has read the answer.
//! - A body that is too large is not skipped. The answer is sent at once, and the connection discards the rest for a
//!   short time before it closes.
//! - The body of a client that waits for `100 Continue` is not skipped: the client sends nothing, and gets the answer
//!   at once.

use super::Front;
use super::busy::busy;
use crate::connections::{Phase, Progress};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header;
use hyper::http::request::Parts;
use partita_service::{MemoryBudget, Reserved, UNCOUNTED_BYTES};
use partita_wire::{ErrorCode, Failure};
use std::sync::Arc;
use std::time::Duration;

/// The maximum time for skipping a body: 4 MiB at 3.4 Mbit/s. (nginx skips for 30 s, its `lingering_time`, but after
/// the answer.)
const SKIP_TIME_MAX: Duration = Duration::from_secs(10);

/// The size of the chunks of a body of several frames; memory is reserved for one chunk at a time. All chunks have the
/// same size, so that the allocator can use those of a dropped body for the next one. It would keep freed buffers of
/// each size if they grew.
const CHUNK_BYTES: usize = 64 << 10;

/// The body of a request.
#[derive(Debug)]
pub(super) struct RequestBody<'a> {
    incoming: Incoming,
    progress: &'a Progress,
    memory: &'a Arc<MemoryBudget>,
    /// The memory of the body and of the rows that are built from it.
    reserved: Reserved,
    bytes_max: usize,
    /// Whether the limit is the protocol's, which its answers name.
    is_limit_named: bool,
    /// Whether a header announces a body.
    is_announced: bool,
    /// Whether the client waits for `100 Continue`, which hyper sends at the first read.
    is_held_back: bool,
    is_too_large: bool,
}

/// What remains of a body after its request was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// Nothing, or the rest was skipped: the connection can serve the next request.
    Read,
    /// More than the server is willing to skip: the connection ends with the answer.
    Unread,
}

impl<'a> RequestBody<'a> {
    pub(super) fn new(
        incoming: Incoming,
        head: &Parts,
        progress: &'a Progress,
        front: &'a Front,
    ) -> Self {
        let headers = &head.headers;
        let expects =
            |value: &header::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
        Self {
            incoming,
            progress,
            memory: &front.parts.memory,
            reserved: Reserved::default(),
            bytes_max: front.parts.limits.body_bytes_max,
            is_limit_named: false,
            is_announced: headers.contains_key(header::CONTENT_LENGTH)
                || headers.contains_key(header::TRANSFER_ENCODING),
            is_held_back: headers.get(header::EXPECT).is_some_and(expects),
            is_too_large: false,
        }
    }

    /// Lowers the limit of size to the protocol's, which the answer to a longer body names.
    pub(super) fn limit(&mut self, bytes_max: usize) {
        if bytes_max <= self.bytes_max {
            (self.bytes_max, self.is_limit_named) = (bytes_max, true);
        }
    }

    /// The whole body, within the limits of size, time and memory. If the future is dropped, the rest can still be
    /// skipped.
    pub(super) async fn read(&mut self) -> Result<Bytes, Failure> {
        if !self.is_announced {
            return Err(ErrorCode::MissingContentLengthHeader.into());
        }
        let announced = self.incoming.size_hint().lower();
        if announced > self.bytes_max as u64 {
            return Err(self.too_large());
        }
        let (mut chunks, mut length) = (Vec::new(), 0);
        if !self.incoming.is_end_stream() {
            self.progress.enter(Phase::Body);
        }
        while !self.incoming.is_end_stream() {
            self.is_held_back = false;
            let Some(frame) = self.incoming.frame().await else {
                break;
            };
            let Ok(data) = frame.map_err(|_| ErrorCode::InvalidInput)?.into_data() else {
                continue;
            };
            length += data.len();
            if length > self.bytes_max {
                return Err(self.too_large());
            }
            // A body in one piece is not copied; most are.
            if length == data.len() && self.incoming.is_end_stream() {
                self.progress.enter(Phase::Working);
                self.reserve(2 * length)?;
                return Ok(data);
            }
            self.append(&mut chunks, &data, announced as usize)?;
        }
        self.progress.enter(Phase::Working);
        // Chunks and body; then the rows that are built from the body, which take about as much.
        self.reserve(2 * length)?;
        Ok(match chunks.len() {
            0 | 1 => chunks.pop().unwrap_or_default().into(),
            _ => chunks.concat().into(),
        })
    }

    /// Copies a frame into the chunks of a body of `announced` bytes; 0 if its length is unknown.
    fn append(
        &mut self,
        chunks: &mut Vec<Vec<u8>>,
        mut data: &[u8],
        announced: usize,
    ) -> Result<(), Failure> {
        while !data.is_empty() {
            let is_full = |chunk: &Vec<u8>| chunk.len() == chunk.capacity();
            if chunks.last().is_none_or(is_full) {
                let full = chunks.iter().map(Vec::len).sum::<usize>();
                let expected = match announced.saturating_sub(full) {
                    0 => data.len().max(UNCOUNTED_BYTES),
                    rest => rest,
                };
                let capacity = expected.min(CHUNK_BYTES);
                self.reserve(full + capacity)?;
                chunks.push(Vec::with_capacity(capacity));
            }
            let Some(chunk) = chunks.last_mut() else {
                break;
            };
            let room = chunk.capacity() - chunk.len();
            let (fitting, rest) = data.split_at(data.len().min(room));
            chunk.extend_from_slice(fitting);
            data = rest;
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        if bytes <= UNCOUNTED_BYTES {
            return Ok(());
        }
        let reserved = self.reserved.grow_to(self.memory, bytes);
        reserved.map_err(|refused| busy(&refused))
    }

    fn too_large(&mut self) -> Failure {
        self.is_too_large = true;
        let failure = Failure::new(ErrorCode::RequestBodyTooLarge);
        match self.is_limit_named {
            true => failure.detail("MaxLimit", self.bytes_max.to_string()),
            false => failure,
        }
    }

    /// Gives back the memory, and skips the rest of the body within the bounds.
    pub(super) async fn end(&mut self) -> BodyEnd {
        self.reserved = Reserved::default();
        if self.is_held_back || self.incoming.is_end_stream() {
            return BodyEnd::Read;
        }
        let is_too_large = self.incoming.size_hint().lower() > self.bytes_max as u64;
        if !self.is_too_large && !is_too_large {
            self.progress.enter(Phase::Body);
            let skipped = tokio::time::timeout(SKIP_TIME_MAX, self.skip_bytes()).await;
            self.progress.enter(Phase::Working);
            if skipped == Ok(true) {
                return BodyEnd::Read;
            }
        }
        self.progress.linger_after_answer();
        BodyEnd::Unread
    }

    /// Reads and drops the rest of the body, at most `bytes_max` bytes. Returns whether this was all of it.
    async fn skip_bytes(&mut self) -> bool {
        let mut left = self.bytes_max;
        while let Some(Ok(frame)) = self.incoming.frame().await {
            let read = frame.data_ref().map_or(0, Bytes::len);
            let Some(still) = left.checked_sub(read) else {
                return false;
            };
            left = still;
        }
        true
    }
}
