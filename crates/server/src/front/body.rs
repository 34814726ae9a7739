//! The body of a request: read whole, or read past.
//!
//! - No more of it is kept than the settings allow.
//! - A client that is still sending misses an answer that is followed by the end of the connection: what it sends then comes upon
//!   a closed socket, and the reset overtakes the answer. So what was not read is read past before the answer, within bounds.
//! - Who waits for `100 Continue` sends nothing before it, and gets the answer instead.

use super::progress::{Phase, Progress};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header;
use hyper::http::request::Parts;
use partita_wire::{ErrorCode, Failure};
use std::time::Duration;

/// How long what nobody wants is read past: 4 MiB at 3.4 Mbit/s. (nginx lets a client that was refused send for 30 s, its
/// `lingering_time`, but has answered it by then.)
const SKIP_TIME_MAX: Duration = Duration::from_secs(10);

/// How much is read past, as a multiple of the largest body: who sends too much is mostly not far above it.
const SKIP_BODIES_MAX: usize = 4;

/// The body of a request.
#[derive(Debug)]
pub(super) struct RequestBody<'a> {
    incoming: Incoming,
    progress: &'a Progress,
    bytes_max: usize,
    /// Whether the request says how the body ends.
    is_announced: bool,
    /// Whether the client waits for `100 Continue`, which it gets once the body is asked for.
    is_held_back: bool,
}

impl<'a> RequestBody<'a> {
    pub(super) fn new(
        incoming: Incoming,
        head: &Parts,
        progress: &'a Progress,
        bytes_max: usize,
    ) -> Self {
        let headers = &head.headers;
        let expects =
            |value: &header::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
        Self {
            incoming,
            progress,
            bytes_max,
            is_announced: headers.contains_key(header::CONTENT_LENGTH)
                || headers.contains_key(header::TRANSFER_ENCODING),
            is_held_back: headers.get(header::EXPECT).is_some_and(expects),
        }
    }

    /// The whole body, within the limits of size and patience. Dropped halfway, the rest can still be skipped.
    pub(super) async fn read(&mut self) -> Result<Bytes, Failure> {
        if !self.is_announced {
            return Err(ErrorCode::MissingContentLengthHeader.into());
        }
        if self.incoming.size_hint().lower() > self.bytes_max as u64 {
            return Err(ErrorCode::RequestBodyTooLarge.into());
        }
        let (mut whole, mut first) = (BytesMut::new(), Bytes::new());
        while !self.incoming.is_end_stream() {
            self.is_held_back = false;
            self.progress.enter(Phase::Body);
            let Some(frame) = self.incoming.frame().await else {
                break;
            };
            let Ok(data) = frame.map_err(|_| ErrorCode::InvalidInput)?.into_data() else {
                continue;
            };
            if first.len() + whole.len() + data.len() > self.bytes_max {
                return Err(ErrorCode::RequestBodyTooLarge.into());
            }
            // Nearly always the body came in one piece, and is not copied.
            if first.is_empty() && whole.is_empty() {
                first = data;
                continue;
            }
            if whole.is_empty() {
                let rest = self.incoming.size_hint().lower() as usize;
                whole.reserve(rest + first.len() + data.len());
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&data);
        }
        self.progress.enter(Phase::Working);
        Ok(if whole.is_empty() {
            first
        } else {
            whole.freeze()
        })
    }

    /// Reads what is left and keeps nothing of it, for a while: before an answer that came before its end.
    pub(super) async fn skip(&mut self) {
        if self.is_held_back || self.incoming.is_end_stream() {
            return;
        }
        // What comes after that time is a closed connection's.
        let _ = tokio::time::timeout(SKIP_TIME_MAX, self.skip_bytes()).await;
        self.progress.enter(Phase::Working);
    }

    async fn skip_bytes(&mut self) {
        let mut left = self.bytes_max.saturating_mul(SKIP_BODIES_MAX);
        self.progress.enter(Phase::Body);
        while let Some(Ok(frame)) = self.incoming.frame().await {
            let read = frame.data_ref().map_or(0, Bytes::len);
            let Some(still) = left.checked_sub(read) else {
                return;
            };
            left = still;
            self.progress.enter(Phase::Body);
        }
    }
}
