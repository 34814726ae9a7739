//! A blocking HTTP/1.1 client over one connection that signs with Shared Key: for preparing tables and for the crash
//! and disk-full tests, where outcomes matter and speed does not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::http::{BodyReader, Head, find_header};
use crate::{Account, rfc1123_now};

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    account: Account,
    addr: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A request before signing. The path excludes the account: `/Tables`, `/mytable(PartitionKey='a',RowKey='b')`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// HTTP verb.
    pub method: &'a str,
    /// Raw path without the account and without the query.
    pub path: &'a str,
    /// Raw query without the question mark; may be empty.
    pub query: &'a str,
    /// Further headers, each a name and a value.
    pub headers: &'a [(&'a str, &'a str)],
    /// Value of `Content-Type`; empty for none.
    pub content_type: &'a str,
    /// The body; empty for none.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// A request without query, headers and body.
    #[must_use]
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self {
            method,
            path,
            query: "",
            headers: &[],
            content_type: "",
            body: &[],
        }
    }
}

/// An answer, read whole.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    head: Vec<u8>,
    /// The body without transfer coding.
    pub body: Vec<u8>,
}

impl Response {
    /// A header's value; names compare without case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.head, name)
    }

    /// The body as text, lossy: for messages.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When the server does not accept within a second.
    pub fn connect(addr: SocketAddr, account: Account) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, Duration::from_secs(1))?;
        stream.set_nodelay(true)?;
        // An answer that takes longer than any the service gives means that the server hangs.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            account,
            addr,
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends one request and reads its answer.
    ///
    /// # Errors
    /// When the connection fails or the answer is not HTTP. The request may then have been executed or not; the
    /// client must not be used again.
    pub fn send(&mut self, request: &Request<'_>) -> anyhow::Result<Response> {
        let bytes = self.encode(request);
        self.stream
            .write_all(&bytes)
            .context("sending the request")?;
        self.receive()
    }

    /// The request as it goes over the wire, signed now.
    fn encode(&self, request: &Request<'_>) -> Vec<u8> {
        let date = rfc1123_now();
        let path = format!("/{}{}", self.account.name(), request.path);
        let signature = self
            .account
            .sign(request.method, request.content_type, &date, &path);
        let question = if request.query.is_empty() { "" } else { "?" };
        let mut text = format!(
            "{} {path}{question}{} HTTP/1.1\r\nHost: {}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\n\
             Authorization: SharedKey {}:{signature}\r\n",
            request.method,
            request.query,
            self.addr,
            self.account.name(),
        );
        if !request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("accept"))
        {
            text.push_str("Accept: application/json;odata=minimalmetadata\r\n");
        }
        for (name, value) in request.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !request.content_type.is_empty() {
            text.push_str(&format!("Content-Type: {}\r\n", request.content_type));
        }
        if !request.body.is_empty() || request.method == "POST" {
            text.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(request.body);
        bytes
    }

    fn receive(&mut self) -> anyhow::Result<Response> {
        self.buffer.clear();
        let head = loop {
            if let Some(head) = Head::parse(&self.buffer)? {
                break head;
            }
            self.fill()?;
        };
        let rest = self.buffer.split_off(head.bytes);
        let head_bytes = std::mem::replace(&mut self.buffer, rest);
        let mut reader = BodyReader::new(head.body);
        let mut body = Vec::new();
        loop {
            let used = reader.feed(&self.buffer, |bytes| body.extend_from_slice(bytes))?;
            self.buffer.drain(..used);
            if reader.is_done() {
                break;
            }
            self.fill()?;
        }
        if head.close {
            // The next request would fail anyway; a fresh connection keeps the client usable.
            self.stream = TcpStream::connect(self.addr).context("reconnecting after close")?;
        }
        Ok(Response {
            status: head.status,
            head: head_bytes,
            body,
        })
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        let mut piece = [0; 64 * 1_024];
        let count = self.stream.read(&mut piece).context("reading the answer")?;
        if count == 0 {
            bail!("the server closed the connection");
        }
        self.buffer
            .extend_from_slice(piece.get(..count).unwrap_or_default());
        Ok(())
    }
}
