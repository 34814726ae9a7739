//! Requests of the Queue protocol: their Shared Key signature, and values in their URLs and headers.

use crate::pipeline::{Protocol, Unsigned};
use crate::request::{Request, XML};
use http::header::HeaderName;
use partita_model::Metadata;
use partita_wire::queue::{Operation, SignedRequest, metadata_headers};
use partita_wire::{Failure, Method, ServiceKind};
use std::time::Duration;

/// The protocol version. Its answers have the receipt of a new message and repeat the client's request id, and its
/// messages can live forever.
const VERSION: &str = "2019-02-02";

/// What distinguishes the Queue protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    service: ServiceKind::Queue,
    version: VERSION,
    token_version: VERSION,
    authorization,
};

/// A request without parameters and body.
pub(super) fn queue_request(operation: Operation, method: Method, path: String) -> Request {
    let (name, is_write) = (operation.name(), operation.is_write());
    Request::new(name, is_write, method, path, XML)
}

/// Adds the metadata as headers.
///
/// # Errors
/// [`crate::ErrorKind::Input`] for a name that is not ASCII, which HTTP cannot carry.
pub(super) fn with_metadata(mut request: Request, metadata: &Metadata) -> crate::Result<Request> {
    for (name, value) in metadata_headers(metadata) {
        let header = name.parse::<HeaderName>().map_err(|error| {
            crate::Error::input(format!("invalid metadata header {name}")).caused_by(error)
        })?;
        request = request.with_header(header, value.to_owned());
    }
    Ok(request)
}

/// A duration in whole seconds, rounded up.
pub(super) fn seconds(duration: Duration) -> String {
    let part = u64::from(duration.subsec_nanos() > 0);
    duration.as_secs().saturating_add(part).to_string()
}

fn authorization(unsigned: &Unsigned<'_>) -> Result<String, Failure> {
    let request = unsigned.request;
    let length = request.body.len().to_string();
    let mut headers = vec![
        ("content-length", &*length),
        ("content-type", &*request.content_type),
        ("x-ms-version", unsigned.version),
        ("x-ms-date", unsigned.date),
        ("x-ms-client-request-id", unsigned.id),
    ];
    let extra = request.extra_headers.iter();
    headers.extend(extra.map(|(name, value)| (name.as_str(), &**value)));
    let signed = SignedRequest {
        method: request.method.name(),
        headers: &headers,
        target: &unsigned.target(),
    };
    signed.authorization(unsigned.key, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_to_seconds() {
        assert_eq!(seconds(Duration::ZERO), "0");
        assert_eq!(seconds(Duration::from_millis(1)), "1");
        assert_eq!(seconds(Duration::from_secs(30)), "30");
        assert_eq!(seconds(Duration::from_millis(30_001)), "31");
        assert_eq!(seconds(Duration::MAX), u64::MAX.to_string());
    }

    #[test]
    fn metadata_becomes_headers() {
        let request = || queue_request(Operation::CreateQueue, Method::Put, "/q".to_owned());
        let mut metadata = Metadata::default();
        metadata.add("Color", "red").unwrap();
        let headers = with_metadata(request(), &metadata).unwrap().extra_headers;
        assert_eq!(headers.len(), 1);
        let (name, value) = &headers[0];
        assert_eq!((name.as_str(), &**value), ("x-ms-meta-color", "red"));
        let mut metadata = Metadata::default();
        metadata.add("größe", "L").unwrap();
        let error = with_metadata(request(), &metadata).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Input);
    }
}
