//! An HTTP client over one simulated connection.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use turmoil::net::TcpStream;

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Checks the status.
    ///
    /// # Errors
    /// The answer has another status. The error has its status and body.
    pub(crate) fn expect(&self, status: u16) -> anyhow::Result<()> {
        ensure!(self.status == status, "{} {}", self.status, self.text());
        Ok(())
    }

    /// The body as text, for messages.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection that opens with the first request.
pub(crate) struct Client {
    host: &'static str,
    port: u16,
    /// How often it tries to connect again.
    tries: u32,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// A client for one port of a host.
    pub(crate) fn new(host: &'static str, port: u16) -> Self {
        Self {
            host,
            port,
            tries: 1_000,
            connection: None,
        }
    }

    /// A client that tries to connect once.
    pub(crate) fn impatient(host: &'static str, port: u16) -> Self {
        Self {
            tries: 0,
            ..Self::new(host, port)
        }
    }

    /// Connects, unless it is connected.
    ///
    /// # Errors
    /// Those of connecting.
    pub(crate) async fn open(&mut self) -> anyhow::Result<()> {
        if self.connection.as_ref().is_none_or(SendRequest::is_closed) {
            self.connection = Some(self.connect().await?);
        }
        Ok(())
    }

    /// Closes the connection; the next request opens another.
    pub(crate) fn disconnect(&mut self) {
        self.connection = None;
    }

    /// Sends a request whose URI is only a path and query, and reads the complete answer.
    ///
    /// # Errors
    /// When the connection breaks. The request may have been executed.
    pub(crate) async fn send(
        &mut self,
        mut request: Request<Full<Bytes>>,
    ) -> anyhow::Result<Answer> {
        let host = format!("{}:{}", self.host, self.port).parse()?;
        request.headers_mut().insert("host", host);
        let mut connection = match self.connection.take() {
            Some(connection) if !connection.is_closed() => connection,
            _ => self.connect().await?,
        };
        connection
            .ready()
            .await
            .context("the connection is not ready")?;
        let answer = connection
            .send_request(request)
            .await
            .context("no answer")?;
        let (head, body) = answer.into_parts();
        let body = body
            .collect()
            .await
            .context("the answer is incomplete")?
            .to_bytes();
        self.connection = Some(connection);
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        })
    }

    /// Connects, and retries until the server listens.
    async fn connect(&self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let mut tries = 0;
        let stream = loop {
            match TcpStream::connect((self.host, self.port)).await {
                Ok(stream) => break stream,
                Err(error) if tries == self.tries => return Err(error).context("cannot connect"),
                Err(_not_listening) => tries += 1,
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::task::spawn_local(async move {
            // The error is ignored, because the task that waits for an answer gets it too.
            let _ = connection.await;
        });
        Ok(sender)
    }
}
