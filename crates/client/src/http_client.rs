//! A plain HTTP client for other protocols, such as Partita's admin API. It connects as the table clients do, with a
//! connection pool, TLS and proxies, but without signatures and retries.

use crate::transport::Transport;
use crate::{ClientOptions, Error, ErrorKind, Result};
use bytes::Bytes;
use http::Request;
use http::header::{HeaderValue, USER_AGENT};
use http_body_util::Full;
use std::time::Duration;

/// A client for any HTTP/1.1 server. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub struct HttpClient {
    transport: Transport,
    user_agent: HeaderValue,
    timeout: Duration,
}

/// A complete answer of any status.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status, such as 200.
    pub status: u16,
    /// The body, at most 64 MiB.
    pub body: Bytes,
}

impl HttpClient {
    /// A client with the connection settings of `options`, whose `attempt_timeout` bounds each request. `tls` says
    /// whether requests use `https`. Without it, the machine's certificate authorities are not loaded, which saves some
    /// milliseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Tls`] without a trusted certificate authority; [`ErrorKind::Input`] if `options.application` is not
    /// a valid header value.
    pub fn new(options: &ClientOptions, tls: bool) -> Result<Self> {
        let user_agent = HeaderValue::from_str(&options.application)
            .map_err(|error| Error::input("invalid application name").caused_by(error))?;
        Ok(Self {
            transport: Transport::new(options, tls)?,
            user_agent,
            timeout: options.attempt_timeout,
        })
    }

    /// Sends a request once and returns the answer of any status. Cancellation: the server may have executed the
    /// request.
    ///
    /// # Errors
    /// [`ErrorKind::Input`] for an invalid method, URL or header; [`ErrorKind::Connect`], [`ErrorKind::Tls`],
    /// [`ErrorKind::Broken`], [`ErrorKind::TimedOut`] or [`ErrorKind::Unreadable`] without a complete answer.
    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpAnswer> {
        let request = Request::builder().method(method).uri(url);
        let request = request.header(USER_AGENT, self.user_agent.clone());
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| {
                request.header(*name, *value)
            })
            .body(Full::from(body))
            .map_err(|error| {
                Error::input(format!("invalid request {method} {url}")).caused_by(error)
            })?;
        let sent = tokio::time::timeout(self.timeout, self.transport.send(request)).await;
        let answer = sent.unwrap_or_else(|_| {
            let message = format!("no answer within {:?}", self.timeout);
            Err(Error::new(ErrorKind::TimedOut, message))
        })?;
        Ok(HttpAnswer {
            status: answer.status().as_u16(),
            body: answer.into_body(),
        })
    }
}
