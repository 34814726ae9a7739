//! Causes of failed connections that the caller can remove.

use std::error::Error as StdError;
use std::io;

/// Why no connection to a server worked, where the cause is known and the caller can remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectionFault {
    /// No process listens at the address: the connection was refused.
    Refused,
    /// The endpoint is `https`, but the server speaks plain HTTP.
    NoTls,
    /// The endpoint is `http`, but the answer is not HTTP: the server probably speaks TLS.
    NoHttp,
    /// No trusted certificate authority issued the server's certificate.
    UnknownAuthority,
}

impl ConnectionFault {
    /// The fault among the causes of an error; `None` for other errors.
    #[must_use]
    pub fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            let inner = error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref);
            let found = Self::of_one(error).or_else(|| Self::of(inner?));
            if found.is_some() {
                return found;
            }
            next = match error.downcast_ref::<crate::Error>() {
                // Its text contains the causes, so it has no source.
                Some(error) => error.cause().map(|cause| cause as _),
                None => error.source(),
            };
        }
        None
    }

    fn of_one(error: &(dyn StdError + 'static)) -> Option<Self> {
        use rustls::{CertificateError, Error};
        if let Some(error) = error.downcast_ref() {
            return match error {
                // The server's first bytes are not a TLS record.
                Error::InvalidMessage(_) => Some(Self::NoTls),
                Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                    Some(Self::UnknownAuthority)
                }
                _ => None,
            };
        }
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            return Some(Self::Refused);
        }
        let http = error.downcast_ref::<hyper::Error>();
        http.is_some_and(hyper::Error::is_parse)
            .then_some(Self::NoHttp)
    }
}
