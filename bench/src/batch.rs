//! Entity group transactions of a client: `POST /$batch` and its answer.
//!
//! Source: "Performing Entity Group Transactions"; the framing is copied from the official Python client.

use std::net::SocketAddr;

use anyhow::{Context, ensure};

use crate::Account;
use crate::client::Response;

// It has the length of the official clients' boundaries. For a benchmark it may be the same in all batches.
const BOUNDARY: &str = "batch_3c2f4f6e-5d0f-4f6f-9df1-8f1c2b7a9e01";
const CHANGES: &str = "changeset_9b1d6d3a-0c3e-4c59-8a55-6a4e7c0b2d02";

/// The `Content-Type` of a finished batch.
pub const CONTENT_TYPE: &str =
    "multipart/mixed; boundary=batch_3c2f4f6e-5d0f-4f6f-9df1-8f1c2b7a9e01";

/// A batch being written.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Scheme, host and account of every operation's URL.
    base: String,
    body: String,
}

/// The answer to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchPart {
    /// HTTP status.
    pub status: u16,
    /// The entity's new ETag, if it has one.
    pub etag: Option<String>,
    /// The whole part, for messages.
    pub text: String,
}

impl Batch {
    /// An empty batch for the server at `addr`.
    pub fn new(account: &Account, addr: SocketAddr) -> Self {
        Self {
            base: format!("http://{addr}/{}", account.name()),
            body: format!(
                "--{BOUNDARY}\r\nContent-Type: multipart/mixed; boundary={CHANGES}\r\n\r\n"
            ),
        }
    }

    /// Adds an operation; the path excludes the account, the body may be empty.
    pub fn push(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        self.body += &format!(
            "--{CHANGES}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             {method} {}{path} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n\
             DataServiceVersion: 3.0\r\n",
            self.base
        );
        for (name, value) in headers {
            self.body += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            self.body += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        self.body += &format!("\r\n{body}\r\n");
    }

    /// Adds the insert of an entity.
    pub(crate) fn push_insert(&mut self, table: &str, json: &str) {
        let prefer = ("Prefer", "return-no-content");
        self.push("POST", &format!("/{table}"), &[prefer], json);
    }

    /// The request's body.
    pub fn finish(self) -> String {
        self.body + &format!("--{CHANGES}--\r\n\r\n--{BOUNDARY}--\r\n")
    }
}

/// The parts of the answer to a batch, in order; the answer to a refused batch has one part.
///
/// # Errors
/// When the answer has another status than 202.
pub fn parts(answer: &Response) -> anyhow::Result<Vec<BatchPart>> {
    let text = answer.text();
    ensure!(answer.status == 202, "batch: {} {text}", answer.status);
    text.split("HTTP/1.1 ").skip(1).map(part).collect()
}

fn part(text: &str) -> anyhow::Result<BatchPart> {
    let status = text.get(..3).and_then(|digits| digits.parse().ok());
    let etag = text
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("etag"))
        .map(|(_, value)| value.trim().to_owned());
    Ok(BatchPart {
        status: status.with_context(|| format!("a part without a status: {text}"))?,
        etag,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_gives_status_and_tag() {
        let text = "204 No Content\r\nDataServiceVersion: 1.0;\r\netag: W/\"datetime'2024'\"\r\n\r\nETag: no\r\n";
        let part = part(text).unwrap();
        assert_eq!(
            (part.status, part.etag.as_deref()),
            (204, Some("W/\"datetime'2024'\""))
        );
        assert!(super::part("OK").is_err());
    }
}
