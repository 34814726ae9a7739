//! Signed requests without a client, for tests that need control of single bytes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The current time as an HTTP date. The system's `date` formats it, so that the test needs no library.
pub(crate) fn http_date_now() -> String {
    let mut date = Command::new("date");
    let output = date
        .env("LC_ALL", "C")
        .args(["-u", "+%a, %d %b %Y %H:%M:%S GMT"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// The value of `Authorization` for a path without its account: Shared Key Lite for tables (service document "Authorize
/// with Shared Key").
fn authorization(date: &str, path: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    mac.update(format!("{date}\n/{ACCOUNT}/{ACCOUNT}/{path}").as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    format!("SharedKeyLite {ACCOUNT}:{signature}")
}

/// Head and body of the answer to a GET.
pub(crate) fn get(address: &str, path: &str, query: &str) -> (String, String) {
    let date = http_date_now();
    let authorization = authorization(&date, path);
    let request = format!(
        "GET /{ACCOUNT}/{path}?{query} HTTP/1.1\r\nHost: {address}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\n\
         Authorization: {authorization}\r\nAccept: application/json;odata=nometadata\r\nConnection: close\r\n\r\n"
    );
    ask(address, &request)
}

/// The bytes of a signed request; the connection stays open. `date` is the time of the signature.
pub(crate) fn signed(
    address: &str,
    date: &str,
    line: (&str, &str),
    headers: &str,
    body: &str,
) -> Vec<u8> {
    let (method, path) = line;
    let authorization = authorization(date, path);
    let length = if method == "GET" {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    format!(
        "{method} /{ACCOUNT}/{path} HTTP/1.1\r\nHost: {address}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\n\
         Authorization: {authorization}\r\nAccept: application/json;odata=nometadata\r\n{headers}{length}\r\n{body}"
    )
    .into_bytes()
}

/// The headers of a JSON body.
pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

/// Sends a request and reads head and body of the answer, up to its `Content-Length`. The connection stays open.
pub(crate) fn exchange(
    stream: &mut TcpStream,
    request: &[u8],
) -> std::io::Result<(String, String)> {
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= content_length(head)
        {
            return Ok((head.to_owned(), body.to_owned()));
        }
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&piece[..count]);
    }
}

fn content_length(head: &str) -> usize {
    let head = head.to_ascii_lowercase();
    let value = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    value.map_or(0, |value| value.trim().parse().unwrap())
}

/// Head and body of a page that needs no signature.
pub(crate) fn get_page(address: &str, path: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    ask(address, &request)
}

fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// A request whose headers the server has received, and whose body it waits for.
pub(crate) struct Held {
    stream: TcpStream,
    body: String,
}

impl Held {
    /// Begins to create a table. When this returns, the server handles the request: it has sent `100 Continue` for the
    /// body.
    pub(crate) fn create_table(address: &str, name: &str) -> Held {
        let body = format!("{{\"TableName\":\"{name}\"}}");
        let date = http_date_now();
        let authorization = authorization(&date, "Tables");
        let head = format!(
            "POST /{ACCOUNT}/Tables HTTP/1.1\r\nHost: {address}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\n\
             Authorization: {authorization}\r\nAccept: application/json;odata=nometadata\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let wanted = b"HTTP/1.1 100 Continue\r\n\r\n";
        let mut asked = vec![0; wanted.len()];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(asked, wanted, "{}", String::from_utf8_lossy(&asked));
        Held { stream, body }
    }

    /// Sends the body, and returns the answer.
    pub(crate) fn finish(mut self) -> String {
        self.stream.write_all(self.body.as_bytes()).unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        answer
    }
}
