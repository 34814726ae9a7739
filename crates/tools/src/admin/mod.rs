//! Partita's admin port, asked by its operators' tools: `docs/admin-api.md` describes what it answers.
//!
//! - [`AdminPort`]: one request a connection, for pages, for actions, and for jobs that outlast their request.
//! - [`Status`], [`Ranges`], [`Hot`], [`Heat`]: what is read of its pages. A server may say more, and an older one less: fields that are
//!   missing have their empty value.

mod pages;

use crate::source::Traffic;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub use pages::{
    Change, Growth, Heat, HeatRow, Hot, HotPartition, Limited, Listening, Load, Place, Process,
    Range, RangeCounts, Ranges, Requests, SplitAdvice, Status, Store, Window,
};

/// For the whole answer of a page. A server that is near answers in milliseconds.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// For the whole answer of an action: a flush of much that was written takes some seconds, and may be asked for twice.
const ACTION_TIMEOUT: Duration = Duration::from_secs(120);

/// How often a job is asked after.
const JOB_POLL: Duration = Duration::from_millis(100);

/// 10,000 ranges with long keys are a few megabytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Why the admin port did not answer as asked.
#[derive(Debug, Error)]
pub enum AdminError {
    /// The URL is none of the form `http://host:port`.
    #[error("{0:?} is no admin port: expected http://host:port")]
    Url(String),
    /// Nobody answers there.
    #[error(
        "no admin port answers at {url}; is the server running, with --admin-port on? --admin URL or PARTITA_ADMIN says where"
    )]
    Unreachable {
        /// Where it was asked.
        url: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It answered that it does not do this.
    #[error("{code}: {message}")]
    Refused {
        /// Status of the answer.
        status: u16,
        /// As in `docs/admin-api.md`, such as `NoSplitKey`.
        code: String,
        /// In words.
        message: String,
    },
    /// What answers is no admin port, or one of a version that has not this page.
    #[error(
        "what answers at {0} has no such page; is it the admin port of a Partita of this version?"
    )]
    Strange(String),
    /// A job that was started ended with this.
    #[error("{0}")]
    Failed(String),
}

/// An admin port. Nothing is kept open between requests.
#[derive(Debug, Clone)]
pub struct AdminPort {
    address: String,
    traffic: Arc<Traffic>,
    page_timeout: Duration,
}

/// An answer with a status of success.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The JSON as it came.
    pub text: String,
    url: String,
}

impl Answer {
    /// What it says.
    ///
    /// # Errors
    /// [`AdminError::Strange`].
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        serde_json::from_str(&self.text).map_err(|_| AdminError::Strange(self.url.clone()))
    }
}

impl fmt::Display for AdminPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.address)
    }
}

impl AdminPort {
    /// The admin port at `http://host:port`. What is asked of it is counted in `traffic`.
    ///
    /// # Errors
    /// [`AdminError::Url`].
    pub fn new(url: &str, traffic: Arc<Traffic>) -> Result<Self, AdminError> {
        let invalid = || AdminError::Url(url.to_owned());
        let address = url.strip_prefix("http://").ok_or_else(invalid)?;
        let address = address.trim_end_matches('/');
        // It becomes part of a request's head.
        let strange = |c: char| c == '/' || c == ' ' || c.is_ascii_control();
        if address.is_empty() || address.contains(strange) {
            return Err(invalid());
        }
        Ok(Self {
            address: address.to_owned(),
            traffic,
            page_timeout: PAGE_TIMEOUT,
        })
    }

    /// The same, waiting for a page no longer than this.
    #[must_use]
    pub fn within(mut self, page_timeout: Duration) -> Self {
        self.page_timeout = page_timeout;
        self
    }

    /// A page, such as `/admin/v1/ranges`. Cancel safe.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn page(&self, path: &str) -> Result<Answer, AdminError> {
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        self.ask(request, self.page_timeout).await
    }

    /// Does something to a range; `body` is JSON, or empty. Not cancel safe: it may be done all the same.
    ///
    /// # Errors
    /// [`AdminError`]; after [`AdminError::Unreachable`] it may have been done.
    pub async fn act(&self, range: u64, action: &str, body: &str) -> Result<Answer, AdminError> {
        let path = format!("/admin/v1/ranges/{range}/{action}");
        self.post(&path, body).await
    }

    /// An action, by its path, such as `/admin/v1/snapshots/nightly/create`; `body` is JSON, or empty. Not cancel safe: it may be done
    /// all the same.
    ///
    /// # Errors
    /// [`AdminError`]; after [`AdminError::Unreachable`] it may have been done.
    pub async fn post(&self, path: &str, body: &str) -> Result<Answer, AdminError> {
        let (address, length) = (&self.address, body.len());
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: {address}\r\n\
             X-Partita-Admin: partita-tools\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.ask(request, ACTION_TIMEOUT).await
    }

    /// An action that starts a job, and what came of it, once it is done. Not cancel safe: the job goes on without us.
    ///
    /// # Errors
    /// [`AdminError`]; [`AdminError::Failed`] with the reason when the job failed.
    pub async fn job(&self, path: &str, body: &str) -> Result<Value, AdminError> {
        let mut job: Job = self.post(path, body).await?.read()?;
        while job.state == "running" {
            tokio::time::sleep(JOB_POLL).await;
            job = self
                .page(&format!("/admin/v1/jobs/{}", job.id))
                .await?
                .read()?;
        }
        match job.state.as_str() {
            "done" => Ok(job.result),
            _ => Err(AdminError::Failed(job.error.unwrap_or_default())),
        }
    }

    async fn ask(&self, request: String, timeout: Duration) -> Result<Answer, AdminError> {
        let answer = tokio::time::timeout(timeout, self.exchange(request.as_bytes())).await;
        let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let answer = answer.map_err(|source| AdminError::Unreachable {
            url: self.to_string(),
            source,
        })?;
        self.traffic.count(request.len() + answer.len());
        let strange = || AdminError::Strange(self.to_string());
        let (status, text) = split(&answer).ok_or_else(strange)?;
        if !(200..300).contains(&status) {
            let refused: RefusedBody = serde_json::from_str(text).map_err(|_| strange())?;
            return Err(AdminError::Refused {
                status,
                code: refused.error.code,
                message: refused.error.message,
            });
        }
        Ok(Answer {
            text: text.to_owned(),
            url: self.to_string(),
        })
    }

    /// The answer, head and body. HTTP/1.0, so that the body comes as it is and the connection ends with it.
    async fn exchange(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(&self.address).await?;
        stream.write_all(request).await?;
        let mut answer = Vec::new();
        let mut bounded = stream.take(ANSWER_BYTES_MAX);
        bounded.read_to_end(&mut answer).await?;
        Ok(answer)
    }
}

/// A piece of work that the server does on its own.
#[derive(Deserialize)]
struct Job {
    id: u64,
    state: String,
    #[serde(default)]
    result: Value,
    error: Option<String>,
}

#[derive(Deserialize)]
struct RefusedBody {
    error: RefusedText,
}

#[derive(Deserialize)]
struct RefusedText {
    code: String,
    message: String,
}

/// Status and body.
fn split(answer: &[u8]) -> Option<(u16, &str)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut words = head.split(' ');
    let is_http = words.next()?.starts_with("HTTP/1.");
    let status = words.next()?.parse().ok()?;
    is_http.then_some((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// What is made of an answer.
    async fn asked(answer: &'static str) -> Result<String, AdminError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let port = AdminPort::new(&url, Arc::default()).unwrap();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 256];
            let length = stream.read(&mut head).await.unwrap();
            let head = std::str::from_utf8(&head[..length]).unwrap();
            assert!(head.starts_with("POST /admin/v1/ranges/7/merge HTTP/1.0\r\n"));
            assert!(head.ends_with("Content-Length: 2\r\n\r\n{}"), "{head}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let asked = tokio::join!(port.act(7, "merge", "{}"), serve).0;
        Ok(asked?.text)
    }

    #[tokio::test]
    async fn answers_are_told_from_refusals_and_strangers() {
        let done = asked("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
        assert_eq!(done.unwrap(), "{}");
        let body = "{\"error\":{\"code\":\"NoNeighbour\",\"message\":\"the last\"}}";
        let refused: &'static str = format!("HTTP/1.0 409 Conflict\r\n\r\n{body}").leak();
        let refused = asked(refused).await.unwrap_err();
        assert_eq!(refused.to_string(), "NoNeighbour: the last");
        for answer in [
            "",
            "HTTP/1.0 404 Not Found\r\n\r\nnot here",
            "220 smtp\r\n\r\n",
        ] {
            let strange = asked(answer).await;
            assert!(matches!(strange, Err(AdminError::Strange(_))), "{answer}");
        }
    }

    #[test]
    fn other_urls() {
        for url in [
            "127.0.0.1:1",
            "https://127.0.0.1:1",
            "http://",
            "http://h:1/x",
            "http://h:1\r\nX: y",
        ] {
            let refused = AdminPort::new(url, Arc::default());
            assert!(matches!(refused, Err(AdminError::Url(_))), "{url}");
        }
    }
}
