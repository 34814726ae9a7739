//! Where a server says that a table is cut: the ranges on Partita's admin port, `GET /admin/v1/ranges`.
//!
//! It is a help, not a need: a scan whose split points are wrong or missing returns the same rows. So whatever is not understood in
//! the answer is passed over.

use serde::Deserialize;
use std::io;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// For the whole answer. A server that is near answers in milliseconds, and a scan goes on without.
const TIMEOUT: Duration = Duration::from_secs(2);

/// 10,000 ranges with long keys are a few megabytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Why a server's split points are not known.
#[derive(Debug, Error)]
pub enum SplitPointsError {
    /// The URL is none of the form `http://host:port`.
    #[error("{0:?} is no admin port: expected http://host:port")]
    Url(String),
    /// Nobody answers there.
    #[error("the admin port does not answer")]
    Unreachable(#[source] io::Error),
    /// What answers is no admin port that shows ranges.
    #[error("what answers shows no ranges")]
    Strange,
}

#[derive(Deserialize)]
struct Ranges {
    ranges: Vec<Range>,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    start: Option<Start>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    account: Option<String>,
    /// None where the table was dropped.
    #[serde(default)]
    table: Option<String>,
    #[serde(default)]
    partition_key: Option<String>,
}

/// The PartitionKeys at which ranges begin within a table, in the server's order. `admin` is the admin port's URL,
/// `http://host:port`.
///
/// # Errors
/// [`SplitPointsError`].
pub async fn split_points(
    admin: &str,
    account: &str,
    table: &str,
) -> Result<Vec<String>, SplitPointsError> {
    let invalid = || SplitPointsError::Url(admin.to_owned());
    let address = admin.strip_prefix("http://").ok_or_else(invalid)?;
    let address = address.trim_end_matches('/');
    // Both become part of a request's head.
    if address.contains(|c: char| c == '/' || c.is_ascii_control() || c == ' ') {
        return Err(invalid());
    }
    let answer = tokio::time::timeout(TIMEOUT, ask(address)).await;
    let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let answer = answer.map_err(SplitPointsError::Unreachable)?;
    let ranges = read(&answer).ok_or(SplitPointsError::Strange)?;
    let starts = ranges.ranges.into_iter().filter_map(|range| range.start);
    let within = starts.filter(|start| {
        let is_table = |name: &String| name.eq_ignore_ascii_case(table);
        start.account.as_deref() == Some(account) && start.table.as_ref().is_some_and(is_table)
    });
    Ok(within.filter_map(|start| start.partition_key).collect())
}

/// The answer, head and body. HTTP/1.0, so that the body comes as it is and the connection ends with it.
async fn ask(address: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /admin/v1/ranges HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream
        .take(ANSWER_BYTES_MAX)
        .read_to_end(&mut answer)
        .await?;
    Ok(answer)
}

fn read(answer: &[u8]) -> Option<Ranges> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut words = head.split(' ');
    let is_http = words.next()?.starts_with("HTTP/1.");
    (is_http && words.next()? == "200").then_some(())?;
    serde_json::from_str(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// What is made of an answer.
    async fn points(answer: &'static str) -> Result<Vec<String>, SplitPointsError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 64];
            let length = stream.read(&mut head).await.unwrap();
            assert!(head[..length].starts_with(b"GET /admin/v1/ranges HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        tokio::join!(split_points(&url, "a", "People"), serve).0
    }

    #[tokio::test]
    async fn only_starts_within_the_table_count() {
        let answer = concat!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
            r#"{"map_version":3,"ranges":[{"id":1,"start":null},"#,
            r#"{"id":2,"start":{"account":"a","table":"people","partition_key":"m"}},"#,
            r#"{"id":3,"start":{"account":"a","table":null,"partition_key":"n"}},"#,
            r#"{"id":4,"start":{"account":"b","table":"people","partition_key":"o"}},"#,
            r#"{"id":5,"start":{"account":"a","table":"people"}},{"id":6}]}"#,
        );
        assert_eq!(points(answer).await.unwrap(), ["m"]);
    }

    #[tokio::test]
    async fn other_answers() {
        for answer in [
            "",
            "HTTP/1.1 404 Not Found\r\n\r\n{\"ranges\":[]}",
            "HTTP/1.1 200 OK\r\n\r\n{}",
        ] {
            let refused = points(answer).await;
            assert!(
                matches!(refused, Err(SplitPointsError::Strange)),
                "{answer}"
            );
        }
    }

    #[tokio::test]
    async fn other_urls() {
        for url in [
            "127.0.0.1:1",
            "https://127.0.0.1:1",
            "http://h:1/x",
            "http://h:1\r\nX: y",
        ] {
            let refused = split_points(url, "a", "t").await;
            assert!(matches!(refused, Err(SplitPointsError::Url(_))), "{url}");
        }
    }
}
