//! The body of a request or an answer, frame by frame.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::RecvStream;

use super::framing::poll_next_frame;
use super::link::InFlight;

/// The body of a request or an answer: frames of any size, handed on as they came. Room for further frames is given
/// back as frames are taken, so a slow reader slows its sender.
pub struct Body {
    first: Bytes,
    stream: RecvStream,
    /// The place of the request in its connection, until the body ends.
    place: Option<InFlight>,
}

/// The body ended too early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The connection broke, or the sender gave up.
    #[error("the peer broke off in the middle of a body")]
    Broken(#[from] h2::Error),
    /// The body is too large.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Body").finish_non_exhaustive()
    }
}

impl Body {
    pub(super) fn new(first: Bytes, stream: RecvStream, place: Option<InFlight>) -> Self {
        Self {
            first,
            stream,
            place,
        }
    }

    /// The next frame; `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// [`BodyError::Broken`].
    pub async fn frame(&mut self) -> Result<Option<Bytes>, BodyError> {
        poll_fn(|context| self.poll_frame(context)).await
    }

    /// Like [`Self::frame`], for a body that is passed on as one of hyper.
    pub fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        if !self.first.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.first))));
        }
        let frame = ready!(poll_next_frame(&mut self.stream, context))?;
        if frame.is_none() {
            self.place = None;
        }
        Poll::Ready(Ok(frame))
    }

    /// The whole body. A body of one frame is not copied.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn collect(mut self, bytes_max: usize) -> Result<Bytes, BodyError> {
        let too_large = || BodyError::TooLarge(bytes_max);
        let first = self.frame().await?.unwrap_or_default();
        let Some(second) = self.frame().await? else {
            return (first.len() <= bytes_max)
                .then_some(first)
                .ok_or_else(too_large);
        };
        let mut whole = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(frame) = next {
            if whole.len() + frame.len() > bytes_max {
                return Err(too_large());
            }
            whole.extend_from_slice(&frame);
            next = self.frame().await?;
        }
        Ok(whole.freeze())
    }
}
