//! A message on a stream: the length of its head (4 bytes, little-endian), its head, its body.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use h2::RecvStream;

const LENGTH_BYTES: usize = 4;

/// Bodies up to this size are copied behind the head: one frame costs less than two.
const COALESCED_BYTES: usize = 4 << 10;

/// Why the head of a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeadError {
    #[error("the stream ended before the head")]
    Truncated,
    #[error("the head has {0} bytes, more than the limit")]
    TooLong(usize),
    #[error(transparent)]
    Stream(#[from] h2::Error),
}

/// The frames of a message. Only a small body is copied.
pub(super) fn frames(head: &[u8], body: Vec<Bytes>) -> Vec<Bytes> {
    let body_bytes: usize = body.iter().map(Bytes::len).sum();
    let is_coalesced = body_bytes <= COALESCED_BYTES;
    let behind = if is_coalesced { body_bytes } else { 0 };
    let mut first = BytesMut::with_capacity(LENGTH_BYTES + head.len() + behind);
    // A head is far shorter than 4 GiB; the receiver's limit refuses a longer one.
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX);
    first.extend_from_slice(&length.to_le_bytes());
    first.extend_from_slice(head);
    if is_coalesced {
        body.iter().for_each(|piece| first.extend_from_slice(piece));
        return vec![first.freeze()];
    }
    let mut frames = vec![first.freeze()];
    frames.extend(body.into_iter().filter(|piece| !piece.is_empty()));
    frames
}

/// Reads the head of a message. Returns it, and the bytes of the body that came with it. Both are parts of the frame
/// that was received, unless the head came in several frames.
pub(super) async fn read_head(
    stream: &mut RecvStream,
    bytes_max: usize,
) -> Result<(Bytes, Bytes), HeadError> {
    let mut received = next_frame(stream).await?.ok_or(HeadError::Truncated)?;
    let mut length = None;
    loop {
        if length.is_none() && received.len() >= LENGTH_BYTES {
            let announced = received.get_u32_le() as usize;
            if announced > bytes_max {
                return Err(HeadError::TooLong(announced));
            }
            length = Some(announced);
        }
        if let Some(length) = length
            && received.len() >= length
        {
            let head = received.split_to(length);
            return Ok((head, received));
        }
        let more = next_frame(stream).await?.ok_or(HeadError::Truncated)?;
        let mut joined = BytesMut::with_capacity(received.len() + more.len());
        joined.extend_from_slice(&received);
        joined.extend_from_slice(&more);
        received = joined.freeze();
    }
}

/// The next frame of a stream with bytes in it. Its room is given back at once: the receiver has it.
async fn next_frame(stream: &mut RecvStream) -> Result<Option<Bytes>, h2::Error> {
    poll_fn(|context| poll_next_frame(stream, context)).await
}

/// Like [`next_frame`], as a poll.
pub(super) fn poll_next_frame(
    stream: &mut RecvStream,
    context: &mut Context<'_>,
) -> Poll<Result<Option<Bytes>, h2::Error>> {
    loop {
        let Some(frame) = ready!(stream.poll_data(context)) else {
            return Poll::Ready(Ok(None));
        };
        let frame = frame?;
        stream.flow_control().release_capacity(frame.len())?;
        if !frame.is_empty() {
            return Poll::Ready(Ok(Some(frame)));
        }
    }
}
