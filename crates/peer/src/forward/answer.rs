//! The answer to a forwarded request.

use super::access::Access;
use super::limits::NAME_BYTES_MAX;
use super::reader::{DecodeError, Reader};
use super::request::{Headers, Tenure};
use super::writer::Writer;

/// The version of the head.
const VERSION: u8 = 1;

/// The size of a usual head in bytes.
const USUAL_BYTES: usize = 512;

/// The answer to a forwarded request. The body of the client's answer follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardedAnswer<'a> {
    /// The owner has answered; the front passes it on.
    Answered {
        /// The status code.
        status: u16,
        /// The reason phrase; empty for the usual one.
        reason: &'a str,
        /// The size of the body in bytes.
        body_bytes: u64,
        /// Entities or messages in the body.
        entities: u64,
        /// The name of the storage error code; empty without an error.
        code: &'a str,
        /// The reason why the request was not executed; empty if it was.
        busy: &'a str,
        /// The headers.
        headers: Headers<'a>,
    },
    /// The rights of the caller, to a request with [`super::Grant::Unresolved`], which asks for nothing else.
    Rights(Access<'a>),
    /// 421: not executed, because the receiver does not serve the range in the tenure of the request. The newest tenure
    /// that it knows.
    NotHere(Tenure),
}

impl<'a> ForwardedAnswer<'a> {
    /// The bytes of the answer.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::with_capacity(USUAL_BYTES);
        out.byte(VERSION);
        match self {
            Self::Answered {
                status,
                reason,
                body_bytes,
                entities,
                code,
                busy,
                headers,
            } => {
                out.byte(0);
                out.u16(*status);
                out.text(reason);
                out.u64(*body_bytes);
                out.u64(*entities);
                out.text(code);
                out.text(busy);
                out.headers(headers);
            }
            Self::NotHere(tenure) => {
                out.byte(1);
                out.u64(tenure.0);
            }
            Self::Rights(access) => {
                out.byte(2);
                access.write(&mut out);
            }
        }
        out.finish()
    }

    /// Reads the bytes of an answer.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut input = Reader::new(bytes, VERSION)?;
        let answer = match input.byte("kind of answer")? {
            0 => Self::Answered {
                status: input.u16("status")?,
                reason: input.text("reason", NAME_BYTES_MAX)?,
                body_bytes: input.u64("size of the body")?,
                entities: input.u64("number of entities")?,
                code: input.text("error code", NAME_BYTES_MAX)?,
                busy: input.text("reason of a refusal", NAME_BYTES_MAX)?,
                headers: input.headers()?,
            },
            1 => Self::NotHere(Tenure(input.u64("tenure")?)),
            2 => Self::Rights(Access::read(&mut input)?),
            other => return Err(DecodeError::Unknown("kind of answer", other)),
        };
        input.finish()?;
        Ok(answer)
    }
}
