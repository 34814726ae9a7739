//! A client of Partita's admin API. `partita_wire::admin` has the types of the documents, `docs/admin-api.md` describes
//! them for users.
//!
//! - [`AdminPort`]: one method for each page and kind of action, over HTTP or HTTPS. Waits until jobs have ended.
//! - [`Page`]: a document, both parsed and as received text.
//! - Requests are not retried: an action may have been executed although its answer was lost.

mod heat_query;
#[cfg(test)]
mod tests;

use crate::source::Traffic;
use partita_client::{ClientOptions, HttpClient, Proxy};
use partita_wire::admin::{
    ErrorDocument, Finalized, Heat, Hot, Job, JobResult, JobState, RangeActionParams, Ranges,
    SnapshotActionParams, SnapshotDetails, SnapshotList, Status,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

pub use heat_query::{HeatQuery, HeatRows};

/// The default timeout of a page request. A server nearby answers in milliseconds.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of an action. A flush of many rows takes seconds, and an action may flush twice.
const ACTION_TIMEOUT: Duration = Duration::from_secs(120);

/// The interval at which a job is polled.
const JOB_POLL: Duration = Duration::from_millis(100);

/// Why the admin port did not answer as expected.
#[derive(Debug, Error)]
pub enum AdminError {
    /// The URL is not of the form `http://host:port` or `https://host:port`.
    #[error("{0:?} is not the URL of an admin port: expected http://host:port")]
    Url(String),
    /// The server did not answer.
    #[error(
        "no admin port answers at {url}; check that the server is running and its --admin-port is open, or set --admin URL or PARTITA_ADMIN to another port"
    )]
    Unreachable {
        /// The URL of the port.
        url: String,
        /// Why the request failed.
        source: Box<partita_client::Error>,
    },
    /// The server refused the request.
    #[error("{code}: {message}")]
    Refused {
        /// HTTP status of the answer.
        status: u16,
        /// The error code, as in `docs/admin-api.md`, such as `NoSplitKey`.
        code: String,
        /// The reason, and what to do next.
        message: String,
    },
    /// The server is not an admin port, or its version lacks this page.
    #[error(
        "unknown answer from {0}; check that this is Partita's admin port, and that server and client have the same version"
    )]
    UnknownPage(String),
    /// A job failed.
    #[error("{0}")]
    JobFailed(String),
}

/// An admin port. Cheap to clone; it keeps no connection open between requests.
#[derive(Debug, Clone)]
pub struct AdminPort {
    url: String,
    pages: HttpClient,
    actions: HttpClient,
    traffic: Arc<Traffic>,
}

/// Options for reaching an admin port. The default suits a server on this machine.
#[derive(Debug, Clone)]
pub struct AdminOptions {
    /// The timeout of a page request; actions have a longer one.
    pub page_timeout: Duration,
    /// Additional certificate authorities to trust for `https`, in PEM.
    pub authorities_pem: Vec<Vec<u8>>,
}

impl Default for AdminOptions {
    fn default() -> Self {
        Self {
            page_timeout: PAGE_TIMEOUT,
            authorities_pem: Vec::new(),
        }
    }
}

/// A document of the admin API.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The received JSON, including fields of newer versions.
    pub text: String,
    /// The parsed document.
    pub document: T,
}

impl fmt::Display for AdminPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl AdminPort {
    /// The admin port at a URL such as `http://127.0.0.1:10010`.
    ///
    /// # Errors
    /// [`AdminError::Url`], and [`AdminError::Unreachable`] for authorities that cannot be read.
    pub fn new(
        url: &str,
        options: AdminOptions,
        traffic: Arc<Traffic>,
    ) -> Result<Self, AdminError> {
        let url = checked_url(url)?;
        let is_tls = url.starts_with("https://");
        let client = |timeout| {
            let options = ClientOptions {
                application: format!("partita-tools/{}", env!("CARGO_PKG_VERSION")),
                attempt_timeout: timeout,
                connect_timeout: timeout,
                // Polls are rare enough to open a connection each time.
                idle_connections_max: 0,
                proxy: Proxy::Direct,
                authorities_pem: options.authorities_pem.clone(),
                ..ClientOptions::default()
            };
            HttpClient::new(&options, is_tls).map_err(|error| unreachable(&url, error))
        };
        Ok(Self {
            pages: client(options.page_timeout)?,
            actions: client(ACTION_TIMEOUT)?,
            url,
            traffic,
        })
    }

    /// `/admin/v1/status`: health, load and counters. Like all pages, cancel safe.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn status(&self) -> Result<Page<Status>, AdminError> {
        self.page("status").await
    }

    /// `/admin/v1/ranges`: the partition map.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn ranges(&self) -> Result<Page<Ranges>, AdminError> {
        self.page("ranges").await
    }

    /// `/admin/v1/hot`: the hottest partitions, at most `limit`.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn hot(&self, limit: u16) -> Result<Page<Hot>, AdminError> {
        self.page(&format!("hot?limit={limit}")).await
    }

    /// `/admin/v1/heat`: the heat map.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn heat(&self, query: &HeatQuery) -> Result<Page<Heat>, AdminError> {
        self.page(&format!("heat?{}", query.query_string())).await
    }

    /// `/admin/v1/snapshots`: all snapshots.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn snapshots(&self) -> Result<Page<SnapshotList>, AdminError> {
        self.page("snapshots").await
    }

    /// `/admin/v1/snapshots/NAME`: one snapshot. `name` becomes part of the URL, so it must be a valid snapshot name.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn snapshot(&self, name: &str) -> Result<Page<SnapshotDetails>, AdminError> {
        self.page(&format!("snapshots/{name}")).await
    }

    /// Sends an action on a range, such as `split`. Like all actions, not cancel safe: the action may still be
    /// executed.
    ///
    /// # Errors
    /// [`AdminError`]. After [`AdminError::Unreachable`], the action may have been executed.
    pub async fn range_action<T: DeserializeOwned>(
        &self,
        range: u64,
        action: &str,
        params: &RangeActionParams,
    ) -> Result<Page<T>, AdminError> {
        self.post(&format!("ranges/{range}/{action}"), params).await
    }

    /// Sends an action on a server of the cluster, such as `drain`.
    ///
    /// # Errors
    /// The same as of [`AdminPort::range_action`].
    pub async fn server_action<T: DeserializeOwned>(
        &self,
        server: &str,
        action: &str,
    ) -> Result<Page<T>, AdminError> {
        let params = RangeActionParams::default();
        self.post(&format!("servers/{server}/{action}"), &params)
            .await
    }

    /// Switches the balancing of a cluster on or off.
    ///
    /// # Errors
    /// The same as of [`AdminPort::range_action`].
    pub async fn balance<T: DeserializeOwned>(&self, on: bool) -> Result<Page<T>, AdminError> {
        let action = if on { "on" } else { "off" };
        let params = RangeActionParams::default();
        self.post(&format!("balance/{action}"), &params).await
    }

    /// Makes the next version of a cluster active.
    ///
    /// # Errors
    /// The same as of [`AdminPort::range_action`].
    pub async fn finalize(&self) -> Result<Page<Finalized>, AdminError> {
        let params = RangeActionParams::default();
        self.post("version/finalize", &params).await
    }

    /// Sends an action on a snapshot, such as `create`.
    ///
    /// # Errors
    /// The same as of [`AdminPort::range_action`].
    pub async fn snapshot_action<T: DeserializeOwned>(
        &self,
        name: &str,
        action: &str,
        params: &SnapshotActionParams,
    ) -> Result<Page<T>, AdminError> {
        self.post(&format!("snapshots/{name}/{action}"), params)
            .await
    }

    /// Sends an action on a snapshot that starts a job, and waits for the job's result. Not cancel safe: the job
    /// continues.
    ///
    /// # Errors
    /// [`AdminError`]; [`AdminError::JobFailed`] with the reason when the job failed.
    pub async fn snapshot_job(
        &self,
        name: &str,
        action: &str,
        params: &SnapshotActionParams,
    ) -> Result<JobResult, AdminError> {
        let started: Page<Job> = self.snapshot_action(name, action, params).await?;
        let mut job = started.document;
        while job.state == JobState::Running {
            tokio::time::sleep(JOB_POLL).await;
            let page: Page<Job> = self.page(&format!("jobs/{}", job.id)).await?;
            job = page.document;
        }
        match (job.state, job.result) {
            (JobState::Done, Some(result)) => Ok(result),
            _ => Err(AdminError::JobFailed(job.error.unwrap_or_default())),
        }
    }

    async fn page<T: DeserializeOwned>(&self, path: &str) -> Result<Page<T>, AdminError> {
        let client = &self.pages;
        self.send(client, "GET", path, &[], Vec::new()).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        params: &impl Serialize,
    ) -> Result<Page<T>, AdminError> {
        let body =
            serde_json::to_vec(params).expect("parameters contain only text, numbers and switches");
        let headers = [
            ("x-partita-admin", "partita-tools"),
            ("content-type", "application/json"),
        ];
        self.send(&self.actions, "POST", path, &headers, body).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        client: &HttpClient,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Page<T>, AdminError> {
        let url = format!("{}/admin/v1/{path}", self.url);
        let sent = body.len();
        let answer = client.send(method, &url, headers, body).await;
        let answer = answer.map_err(|error| unreachable(&self.url, error))?;
        self.traffic.count(sent + answer.body.len());
        let unknown = || AdminError::UnknownPage(self.url.clone());
        let text = std::str::from_utf8(&answer.body).map_err(|_| unknown())?;
        if !(200..300).contains(&answer.status) {
            let ErrorDocument { error } = serde_json::from_str(text).map_err(|_| unknown())?;
            return Err(AdminError::Refused {
                status: answer.status,
                code: error.code,
                message: error.message,
            });
        }
        Ok(Page {
            document: serde_json::from_str(text).map_err(|_| unknown())?,
            text: text.to_owned(),
        })
    }
}

fn unreachable(url: &str, source: partita_client::Error) -> AdminError {
    AdminError::Unreachable {
        url: url.to_owned(),
        source: Box::new(source),
    }
}

/// Checks that a URL consists of a scheme, a host and an optional port only. Returns it without a trailing slash.
fn checked_url(url: &str) -> Result<String, AdminError> {
    let invalid = || AdminError::Url(url.to_owned());
    let (scheme, authority) = url.split_once("://").ok_or_else(invalid)?;
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    let is_invalid = |c: char| "/?#@ ".contains(c) || c.is_ascii_control();
    if !matches!(scheme, "http" | "https") || authority.is_empty() || authority.contains(is_invalid)
    {
        return Err(invalid());
    }
    Ok(format!("{scheme}://{authority}"))
}
