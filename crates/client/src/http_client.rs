//! Requests over HTTP that are not of the storage protocol, such as those to Partita's admin port: the connections, TLS and proxies
//! of the table clients, without signatures and retries.

use crate::transport::{Answer, SendError, Transport};
use crate::{ClientOptions, Error, ErrorKind, Result};
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::Full;
use std::time::Duration;

/// A client for any HTTP/1.1 server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HttpClient {
    transport: Transport,
    user_agent: HeaderValue,
    timeout: Duration,
}

/// An answer of any status, whole.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status, such as 200.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

impl HttpClient {
    /// A client with the connection settings of `options`, whose `attempt_timeout` bounds each request. `tls` says whether `https`
    /// URLs will be requested: reading the machine's certificate authorities takes some milliseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Tls`] where there is no authority to trust, [`ErrorKind::Input`] where the application's name is not a header
    /// value.
    pub fn new(options: &ClientOptions, tls: bool) -> Result<Self> {
        let user_agent = HeaderValue::from_str(&options.application)
            .map_err(|error| Error::input("invalid application name").caused_by(error))?;
        Ok(Self {
            transport: Transport::new(options, tls)?,
            user_agent,
            timeout: options.attempt_timeout,
        })
    }

    /// Sends a request once and returns the answer. Dropped halfway, the request may have been executed.
    ///
    /// # Errors
    /// [`ErrorKind::Input`] for a malformed URL or header; [`ErrorKind::Connect`], [`ErrorKind::Tls`], [`ErrorKind::Broken`],
    /// [`ErrorKind::TimedOut`] or [`ErrorKind::Unreadable`] where there is no answer.
    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpAnswer> {
        let request = self.request(method, url, headers, body)?;
        let sent = tokio::time::timeout(self.timeout, self.transport.send(request)).await;
        let Answer { status, body, .. } = match sent {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(not_answered(error)),
            Err(_) => {
                let message = format!("no answer within {:?}", self.timeout);
                return Err(Error::new(ErrorKind::TimedOut, message));
            }
        };
        Ok(HttpAnswer { status, body })
    }

    fn request(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::from_bytes(method.as_bytes())
            .map_err(|error| Error::input("invalid HTTP method").caused_by(error))?;
        *request.uri_mut() = url.parse::<Uri>().map_err(|error| {
            Error::input(format!("{url:?} is not a valid URL")).caused_by(error)
        })?;
        let into = request.headers_mut();
        into.insert(USER_AGENT, self.user_agent.clone());
        for (name, value) in headers {
            let invalid = || Error::input(format!("invalid header {name}"));
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|error| invalid().caused_by(error))?;
            let value = HeaderValue::from_str(value).map_err(|error| invalid().caused_by(error))?;
            into.insert(name, value);
        }
        Ok(request)
    }
}

fn not_answered(SendError { kind, source }: SendError) -> Error {
    let message = match kind {
        ErrorKind::Connect => "cannot connect",
        ErrorKind::Tls => "TLS handshake failed",
        ErrorKind::Unreadable => "the answer cannot be read",
        _ => "the connection broke",
    };
    Error::new(kind, message).caused_by(source)
}
