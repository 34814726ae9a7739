//! A forwarded request and its answer, as bytes.
//!
//! A front forwards a request after it has verified the credentials. So the request carries what follows from them: the
//! account and the rights, not the signature. The owner does not verify it again, because mutual TLS says which server
//! sent it. The types are this crate's own; `server` maps its own to them.
//!
//! ```text
//!  version  1 byte: 1
//!  fixed    service, scheme, hops, time left, range, tenure, request id, service version, client address
//!  rights   kind, letters or roles or container and key bounds, expiry
//!  texts    account, base URL, method, request target, row of the table or queue, headers as the client spelled them
//! ```
//!
//! Numbers are little-endian. A text has its length before it. Bytes behind the last header are an error, like every
//! value that is not listed here: a server that sends something newer must first know that the receiver reads it.

mod access;
mod answer;
pub(crate) mod limits;
pub(crate) mod reader;
mod request;
#[cfg(test)]
mod tests;
pub(crate) mod writer;

pub use access::{Access, Grant, KeyBound};
pub use answer::ForwardedAnswer;
pub use reader::DecodeError;
pub use request::{ForwardedRequest, Headers, RangeId, Scheme, ServiceId, Tenure};
