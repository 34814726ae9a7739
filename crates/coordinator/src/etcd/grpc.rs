//! gRPC over one HTTP/2 connection: calls with one message each way, and calls whose answers are a stream.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, HeaderValue, Request, StatusCode};

use crate::registry::RegistryError;

/// The largest message that is accepted. etcd's own limit for requests is 1.5 MiB; a listing has all keys.
const MESSAGE_MAX: usize = 256 << 20;

/// Why a call failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// It was not sent: the connection is gone, or the server refused it unseen.
    NotSent(String),
    /// The connection broke after it was sent, or the answer cannot be read.
    Broken(String),
    /// etcd answered with an error.
    Status(Status),
}

/// An error that etcd answered.
#[derive(Debug)]
pub(super) struct Status {
    code: u32,
    message: String,
}

impl Status {
    const INVALID_ARGUMENT: u32 = 3;
    const NOT_FOUND: u32 = 5;
    const PERMISSION_DENIED: u32 = 7;
    const RESOURCE_EXHAUSTED: u32 = 8;
    const FAILED_PRECONDITION: u32 = 9;
    const OUT_OF_RANGE: u32 = 11;
    const UNIMPLEMENTED: u32 = 12;
    const UNAVAILABLE: u32 = 14;
    const UNAUTHENTICATED: u32 = 16;

    /// Whether etcd refused the token of the connection because it expired.
    pub(super) fn is_unauthenticated(&self) -> bool {
        self.code == Self::UNAUTHENTICATED
    }

    /// Whether another member may answer better: this one has no leader, or is stopping.
    pub(super) fn is_of_member(&self) -> bool {
        self.code == Self::UNAVAILABLE
    }

    fn into_error(self) -> RegistryError {
        let message = format!("{} (code {})", self.message, self.code);
        match self.code {
            Self::NOT_FOUND => RegistryError::LeaseEnded,
            Self::RESOURCE_EXHAUSTED | Self::UNAUTHENTICATED => RegistryError::Unavailable(message),
            Self::INVALID_ARGUMENT
            | Self::PERMISSION_DENIED
            | Self::FAILED_PRECONDITION
            | Self::OUT_OF_RANGE
            | Self::UNIMPLEMENTED => RegistryError::Refused(message),
            // No leader, a leader that changed, a request that timed out inside etcd.
            _ => RegistryError::Unknown(message),
        }
    }
}

impl From<CallError> for RegistryError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotSent(why) => Self::Unavailable(why),
            CallError::Broken(why) => Self::Unknown(why),
            CallError::Status(status) => status.into_error(),
        }
    }
}

/// A call that was sent.
pub(super) struct Call {
    response: ResponseFuture,
    /// Open for calls that may send more, because etcd ends a watch whose client has ended its side.
    _sending: Option<h2::SendStream<Bytes>>,
}

/// Sends a call with one message.
pub(super) async fn send(
    sender: SendRequest<Bytes>,
    origin: &str,
    method: &str,
    token: Option<&HeaderValue>,
    message: &[u8],
    stays_open: bool,
) -> Result<Call, CallError> {
    let not_sent = |error: &dyn std::fmt::Display| CallError::NotSent(error.to_string());
    let mut request = Request::post(format!("{origin}/etcdserverpb.{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        // A member without a leader refuses instead of waiting, and ends its watches.
        .header("hasleader", "true")
        .body(())
        .map_err(|error| not_sent(&error))?;
    if let Some(token) = token {
        request.headers_mut().insert("token", token.clone());
    }
    let mut sender = sender.ready().await.map_err(|error| not_sent(&error))?;
    let (response, mut sending) = sender
        .send_request(request, false)
        .map_err(|error| not_sent(&error))?;
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    // Messages are far smaller than 4 GiB: a transaction has at most 128 changes.
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put_slice(message);
    sending
        .send_data(frame.freeze(), !stays_open)
        .map_err(|error| CallError::Broken(error.to_string()))?;
    Ok(Call {
        response,
        _sending: stays_open.then_some(sending),
    })
}

impl Call {
    /// The one message of the answer.
    pub(super) async fn message(self) -> Result<Bytes, CallError> {
        let mut messages = self.messages().await?;
        let message = messages.next().await?;
        let message = message.ok_or_else(|| CallError::Broken("the answer is empty".to_owned()))?;
        match messages.next().await? {
            None => Ok(message),
            Some(_) => Err(CallError::Broken("the answer has two messages".to_owned())),
        }
    }

    /// Waits for the head of the answer, and returns its messages.
    pub(super) async fn messages(self) -> Result<Messages, CallError> {
        let response = self.response.await.map_err(broken)?;
        if response.status() != StatusCode::OK {
            let status = response.status();
            return Err(CallError::Broken(format!("the HTTP status is {status}")));
        }
        // An error without a message comes in the head.
        if response.headers().contains_key("grpc-status") {
            status(response.headers())?;
        }
        Ok(Messages {
            body: response.into_body(),
            buffer: BytesMut::new(),
            _sending: self._sending,
        })
    }
}

/// The messages of an answer.
pub(super) struct Messages {
    body: RecvStream,
    buffer: BytesMut,
    _sending: Option<h2::SendStream<Bytes>>,
}

impl Messages {
    /// Waits for the next message; nothing after the last. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            match self.body.data().await {
                Some(Ok(data)) => {
                    // Cannot fail: exactly what was received is released.
                    let _ = self.body.flow_control().release_capacity(data.len());
                    self.buffer.extend_from_slice(&data);
                }
                Some(Err(error)) => return Err(broken(error)),
                None => {
                    let trailers = self.body.trailers().await.map_err(broken)?;
                    status(&trailers.unwrap_or_default())?;
                    return Ok(None);
                }
            }
        }
    }

    /// A whole message from the buffer.
    fn take(&mut self) -> Result<Option<Bytes>, CallError> {
        let Some(&[compressed, a, b, c, d]) = self.buffer.first_chunk::<5>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if compressed != 0 || length > MESSAGE_MAX {
            return Err(CallError::Broken("the answer is not valid gRPC".to_owned()));
        }
        if self.buffer.len() < 5 + length {
            self.buffer.reserve(5 + length - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(5);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

fn broken(error: h2::Error) -> CallError {
    // The server says that it has not processed the request.
    if error.reason() == Some(h2::Reason::REFUSED_STREAM) {
        return CallError::NotSent(error.to_string());
    }
    CallError::Broken(error.to_string())
}

/// Reads the outcome in a head or in trailers.
fn status(headers: &HeaderMap) -> Result<(), CallError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let code = text("grpc-status").and_then(|code| code.parse().ok());
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(CallError::Status(Status {
            code,
            message: text("grpc-message").unwrap_or_default().to_owned(),
        })),
        None => Err(CallError::Broken("the answer has no status".to_owned())),
    }
}
