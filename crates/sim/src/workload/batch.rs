//! Entity group transactions: several writes in one partition, all or none.

use anyhow::{Context as _, ensure};
use partita_server::config::WELL_KNOWN_ACCOUNT;

use super::protocol::{Ask, error_code};
use crate::client::Answer;
use crate::model::{Refusal, Write};

/// The answer to one write of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    body: String,
}

/// The request for these writes.
pub(super) fn ask(writes: &[Write]) -> Ask {
    let mut body =
        "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n".to_owned();
    for write in writes {
        let Ask {
            method,
            path,
            if_match,
            body: json,
            ..
        } = Ask::write(write);
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
    let mut ask = Ask::new("POST", "/$batch");
    ask.content_type = "multipart/mixed; boundary=batch_1";
    ask.body = body;
    ask
}

/// The parts of an answer.
pub(super) fn parts(answer: &Answer) -> anyhow::Result<Vec<Part>> {
    let text = answer.text();
    text.split("HTTP/1.1 ").skip(1).map(part).collect()
}

/// A part, from its status on.
fn part(text: &str) -> anyhow::Result<Part> {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .context("a part without an end of its head")?;
    let status = head.get(..3).context("a part without a status")?.parse()?;
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: "));
    // What follows the body is the next delimiter.
    let body = body.split("\r\n--").next().unwrap_or_default();
    Ok(Part {
        status,
        etag: etag.map(str::to_owned),
        body: body.to_owned(),
    })
}

/// Checks the answer to a batch of `count` writes of which the one at `index` must be refused.
pub(super) fn check_refused(
    parts: &[Part],
    count: usize,
    index: usize,
    refusal: Refusal,
) -> anyhow::Result<()> {
    let [part] = parts else {
        anyhow::bail!("a refused batch has {} answers", parts.len());
    };
    ensure!(part.status == refusal.status, "{part:?} for {refusal:?}");
    let code = error_code(part.body.as_bytes());
    ensure!(
        code.as_deref() == Some(refusal.code),
        "{part:?} for {refusal:?}"
    );
    // Of a batch of one write the service names no index.
    ensure!(
        count == 1 || part.body.contains(&format!("\"{index}:")),
        "{part:?} does not name write {index}"
    );
    Ok(())
}
