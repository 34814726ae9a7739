//! One request of a peer, from its stream to its answer.

use std::future::{Future, poll_fn};
use std::sync::Arc;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};

use super::Body;
use super::framing::{HeadError, frames, read_head};
use crate::key::ServerName;

/// A request that a peer has sent.
#[derive(Debug)]
pub struct Received {
    /// The server that sent it, verified.
    pub peer: ServerName,
    /// The head.
    pub head: Bytes,
    /// The body.
    pub body: Body,
}

/// The answer to a request.
#[derive(Debug, Default)]
pub struct Reply {
    /// The head.
    pub head: Vec<u8>,
    /// The pieces of the body. They are sent without a copy.
    pub body: Vec<Bytes>,
}

/// The request was not processed, and will not be. The peer can send it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refuse;

/// What a handler returns.
pub type Outcome = Result<Reply, Refuse>;

/// Answers the requests of peers.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request. The future is dropped when the peer gives up or the connection breaks, so a change must
    /// continue elsewhere once it has begun.
    fn handle(&self, request: Received) -> impl Future<Output = Outcome> + Send;
}

/// Reads a request, has it handled, and answers.
pub(super) async fn serve(
    handler: Arc<impl Handler>,
    peer: ServerName,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    head_bytes_max: usize,
) {
    let mut stream = request.into_body();
    let (head, first) = match read_head(&mut stream, head_bytes_max).await {
        Ok(read) => read,
        Err(HeadError::Stream(_)) => return,
        Err(error) => {
            tracing::warn!(%peer, %error, "a peer sent a malformed request");
            respond.send_reset(Reason::PROTOCOL_ERROR);
            return;
        }
    };
    let received = Received {
        peer,
        head,
        body: Body::new(first, stream, None),
    };
    let outcome = tokio::select! {
        biased;
        outcome = handler.handle(received) => outcome,
        _given_up = poll_fn(|context| respond.poll_reset(context)) => return,
    };
    match outcome {
        Ok(reply) => {
            // An error means that the peer has given up, or that the connection broke.
            if let Err(error) = answer(respond, reply).await {
                tracing::debug!(%error, "an answer to a peer was not sent");
            }
        }
        Err(Refuse) => respond.send_reset(Reason::REFUSED_STREAM),
    }
}

async fn answer(mut respond: SendResponse<Bytes>, reply: Reply) -> Result<(), h2::Error> {
    let mut stream = respond.send_response(Response::new(()), false)?;
    let mut rest = frames(&reply.head, reply.body).into_iter().peekable();
    // The head, and with it a small body, is sent at once: it is bounded.
    if let Some(first) = rest.next() {
        stream.send_data(first, rest.peek().is_none())?;
    }
    while let Some(frame) = rest.next() {
        send(&mut stream, frame, rest.peek().is_none()).await?;
    }
    Ok(())
}

/// Sends a frame as the peer takes it.
async fn send(
    stream: &mut SendStream<Bytes>,
    mut frame: Bytes,
    is_last: bool,
) -> Result<(), h2::Error> {
    while !frame.is_empty() {
        stream.reserve_capacity(frame.len());
        let room = poll_fn(|context| stream.poll_capacity(context)).await;
        let room = room.unwrap_or_else(|| Err(Reason::CANCEL.into()))?;
        let piece = frame.split_to(room.min(frame.len()));
        stream.send_data(piece, is_last && frame.is_empty())?;
    }
    Ok(())
}
