//! A blocking HTTP/1.1 client over one connection that signs with Shared Key: for preparing tables and queues, and for the
//! tests of `harness`, where outcomes matter and speed does not.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::account::QueueRequest;
use crate::http::{BodyReader, Head, find_header};
use crate::{Account, rfc1123_now};

/// The version of the service's protocols in every request.
const VERSION: &str = "2019-02-02";

/// The query option for answers without metadata.
pub const NO_METADATA: &str = "$format=application/json;odata=nometadata";

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    account: Account,
    protocol: Protocol,
    addr: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// The protocol of a connection, which determines the signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Table,
    Queue,
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

#[derive(Deserialize)]
struct Page {
    value: Vec<Value>,
}

/// A complete answer.
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
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.head, name)
    }

    /// The body as text, lossy: for messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks the status.
    ///
    /// # Errors
    /// The answer has another status. The error has its status and body.
    pub fn expect(self, status: u16) -> anyhow::Result<Self> {
        ensure!(self.status == status, "{} {}", self.status, self.text());
        Ok(self)
    }

    /// The entities of a page.
    ///
    /// # Errors
    /// When the body is not a page.
    pub fn entities(&self) -> anyhow::Result<Vec<Value>> {
        let page: Page = serde_json::from_slice(&self.body).context("reading a page")?;
        Ok(page.value)
    }

    /// The query options that continue a query after this page; `None` after the last page.
    pub fn next_page(&self) -> Option<String> {
        let token = |name: &str| Some(percent_encode(self.header(name)?));
        let partition = token("x-ms-continuation-NextPartitionKey")?;
        let row = token("x-ms-continuation-NextRowKey");
        let row = row.map_or_else(String::new, |row| format!("&NextRowKey={row}"));
        Some(format!("NextPartitionKey={partition}{row}"))
    }
}

impl Client {
    /// Connects to the Table service.
    ///
    /// # Errors
    /// When the server does not accept within a second.
    pub fn connect(addr: SocketAddr, account: Account) -> anyhow::Result<Self> {
        Self::connect_as(Protocol::Table, addr, account)
    }

    /// Connects to the Queue service.
    ///
    /// # Errors
    /// When the server does not accept within a second.
    pub fn connect_to_queues(addr: SocketAddr, account: Account) -> anyhow::Result<Self> {
        Self::connect_as(Protocol::Queue, addr, account)
    }

    fn connect_as(protocol: Protocol, addr: SocketAddr, account: Account) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, Duration::from_secs(1))?;
        stream.set_nodelay(true)?;
        // An answer takes so long only if the server hangs.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            account,
            protocol,
            addr,
            stream,
            buffer: Vec::new(),
        })
    }

    /// The address of the server.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Sends one request and reads its answer.
    ///
    /// # Errors
    /// When the connection fails, with an [`io::Error`] at the root, or the answer is not HTTP. The request may have
    /// been executed; the client must not be used again.
    pub fn send(&mut self, request: &Request<'_>) -> anyhow::Result<Response> {
        let bytes = self.encode(request);
        self.stream
            .write_all(&bytes)
            .context("sending the request")?;
        self.receive()
    }

    /// Changes how long an answer may take, which is a minute at first.
    ///
    /// # Errors
    /// When the connection is closed.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(patience))
    }

    /// Sends a request without its last `missing` bytes and reads no answer: for clients that stall. The client must
    /// not be used otherwise after that.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn send_and_stall(&mut self, request: &Request<'_>, missing: usize) -> io::Result<()> {
        let mut bytes = self.encode(request);
        bytes.truncate(bytes.len().saturating_sub(missing));
        self.stream.write_all(&bytes)
    }

    /// Whether the server has closed the connection of a client that stalls. Only peeks, so the bytes of an answer stay
    /// readable.
    pub fn is_closed(&self) -> bool {
        let mut byte = [0];
        if self.stream.set_nonblocking(true).is_err() {
            return true;
        }
        let peeked = self.stream.peek(&mut byte);
        let restored = self.stream.set_nonblocking(false);
        match peeked {
            Ok(count) => count == 0 || restored.is_err(),
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Posts JSON to a path; the answer to an insert has no body.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn post(&mut self, path: &str, json: &str) -> anyhow::Result<Response> {
        self.send(&Request {
            headers: &[("Prefer", "return-no-content")],
            content_type: "application/json",
            body: json.as_bytes(),
            ..Request::new("POST", path)
        })
    }

    /// Gets a path.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn get(&mut self, path: &str) -> anyhow::Result<Response> {
        self.send(&Request::new("GET", path))
    }

    /// Gets all pages of a query.
    ///
    /// # Errors
    /// As [`Client::send`], another status than 200, and the error of `take`.
    pub fn pages(
        &mut self,
        path: &str,
        query: &str,
        mut take: impl FnMut(&Response) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut query_of_page = query.to_owned();
        loop {
            let page = self.send(&Request {
                query: &query_of_page,
                ..Request::new("GET", path)
            })?;
            let page = page.expect(200).context("querying a page")?;
            take(&page)?;
            match page.next_page() {
                Some(token) => query_of_page = format!("{query}&{token}"),
                None => return Ok(()),
            }
        }
    }

    /// Puts JSON to a path.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn put(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        json: &[u8],
    ) -> anyhow::Result<Response> {
        self.send(&Request {
            headers,
            content_type: "application/json",
            body: json,
            ..Request::new("PUT", path)
        })
    }

    /// The signature of a request to the Table service. The query is not signed, except for `comp`.
    fn sign_table(&self, request: &Request<'_>, date: &str, path: &str) -> String {
        let mut options = request.query.split('&');
        let comp = options.find(|option| option.starts_with("comp="));
        let resource = comp.map_or_else(|| path.to_owned(), |comp| format!("{path}?{comp}"));
        self.account
            .sign(request.method, request.content_type, date, &resource)
    }

    /// The signature of a request to the Queue service.
    fn sign_queue(&self, request: &Request<'_>, date: &str, path: &str) -> String {
        let mut headers = vec![("x-ms-date", date), ("x-ms-version", VERSION)];
        let signed = request.headers.iter();
        headers.extend(signed.filter(|(name, _)| name.starts_with("x-ms-")));
        headers.sort_unstable();
        let options = request.query.split('&');
        let options = options.filter_map(|option| option.split_once('='));
        let mut query: Vec<_> = options
            .map(|(name, value)| (name, percent_decode(value)))
            .collect();
        query.sort_unstable();
        self.account.sign_queue(&QueueRequest {
            method: request.method,
            content_length: request.body.len(),
            content_type: request.content_type,
            headers: &headers,
            path,
            query: &query,
        })
    }

    /// The bytes of the request, with a signature for the current time.
    pub fn encode(&self, request: &Request<'_>) -> Vec<u8> {
        let date = rfc1123_now();
        let path = format!("/{}{}", self.account.name(), request.path);
        let (signature, accept) = match self.protocol {
            Protocol::Table => (
                self.sign_table(request, &date, &path),
                "application/json;odata=minimalmetadata",
            ),
            Protocol::Queue => (self.sign_queue(request, &date, &path), "application/xml"),
        };
        let question = if request.query.is_empty() { "" } else { "?" };
        let mut text = format!(
            "{} {path}{question}{} HTTP/1.1\r\nHost: {}\r\nx-ms-date: {date}\r\nx-ms-version: {VERSION}\r\n\
             Accept: {accept}\r\nAuthorization: SharedKey {}:{signature}\r\n",
            request.method,
            request.query,
            self.addr,
            self.account.name(),
        );
        for (name, value) in request.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !request.content_type.is_empty() {
            text.push_str(&format!("Content-Type: {}\r\n", request.content_type));
        }
        if !request.body.is_empty() || matches!(request.method, "POST" | "PUT") {
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
            let closed = io::ErrorKind::UnexpectedEof;
            return Err(io::Error::new(closed, "the server closed the connection").into());
        }
        self.buffer
            .extend_from_slice(piece.get(..count).unwrap_or_default());
        Ok(())
    }
}

/// Whether an error of [`Client::send`] means that the connection broke, as it does when the server is killed.
pub fn is_disconnect(error: &anyhow::Error) -> bool {
    error.root_cause().is::<io::Error>()
}

/// Decodes a value that [`percent_encode`] or a caller encoded; an incomplete escape stays as it is.
fn percent_decode(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let decoded = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (decoded, part.get(2..)) {
            (Some(byte), Some(rest)) => text + &char::from(byte).to_string() + rest,
            _ => text + "%" + part,
        }
    })
}

/// Percent-encodes every byte except letters, digits, `-`, `.` and `_`.
pub fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            text + &char::from(byte).to_string()
        }
        byte => text + &format!("%{byte:02X}"),
    })
}
