//! Entity group transactions: several writes in one partition, all or none.

use anyhow::{Context as _, ensure};
use partita_server::config::WELL_KNOWN_ACCOUNT;

use super::protocol::{TableRequest, expect_refusal};
use crate::client::Answer;
use crate::model::{Refusal, Write};

/// The answer to one write of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    pub(crate) body: String,
}

/// The request for these writes.
pub(crate) fn request(writes: &[Write]) -> TableRequest {
    let mut body =
        "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n".to_owned();
    for write in writes {
        let TableRequest {
            method,
            path,
            if_match,
            body: json,
            ..
        } = TableRequest::write(write);
        body += &format!(
            "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             {method} http://server/{WELL_KNOWN_ACCOUNT}{path} HTTP/1.1\r\n\
             Accept: application/json;odata=minimalmetadata\r\n"
        );
        if let Some(if_match) = if_match {
            body += &format!("If-Match: {if_match}\r\n");
        }
        if !json.is_empty() {
            let length = json.len();
            body += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        body += &format!("\r\n{json}\r\n");
    }
    body += "--changeset_1--\r\n--batch_1--\r\n";
    TableRequest {
        content_type: "multipart/mixed; boundary=batch_1",
        body,
        ..TableRequest::new("POST", "/$batch")
    }
}

/// Parses the answer to a batch: one part for each write, or a single part for a refused batch.
pub(crate) fn parts(answer: &Answer) -> anyhow::Result<Vec<Part>> {
    let text = answer.text();
    text.split("HTTP/1.1 ").skip(1).map(part).collect()
}

/// Parses the text of a part, which begins with its status.
fn part(text: &str) -> anyhow::Result<Part> {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .context("a part without a blank line")?;
    let status = head.get(..3).context("a part without a status")?.parse()?;
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: "));
    // The next delimiter ends the body.
    let body = body.split("\r\n--").next().unwrap_or_default();
    Ok(Part {
        status,
        etag: etag.map(str::to_owned),
        body: body.to_owned(),
    })
}

/// Checks the answer to a batch of `count` writes that must be refused because of the write at `index`.
pub(crate) fn check_refused(
    parts: &[Part],
    count: usize,
    index: usize,
    refusal: Refusal,
) -> anyhow::Result<()> {
    let [part] = parts else {
        anyhow::bail!("a refused batch has {} answers", parts.len());
    };
    expect_refusal(part.status, part.body.as_bytes(), refusal)?;
    // The answer to a batch of one write does not contain an index.
    ensure!(
        count == 1 || part.body.contains(&format!("\"{index}:")),
        "{part:?} does not contain the index {index} of the failed write"
    );
    Ok(())
}
