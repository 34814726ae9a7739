//! Requests to a running server: its status from the admin port, and a signed request to the table endpoint.

use crate::error::CommandError;
use futures::StreamExt as _;
use partita_client::{ClientOptions, ErrorKind, Proxy, RetryPolicy, TableServiceClient};
use partita_server::config::Settings;
use partita_server::connect::{Endpoint, authority, reachable};
use partita_tools::admin::{AdminOptions, AdminPort};
use partita_wire::admin::Status;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of each request. A server on the same machine answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout of the status. A server of a cluster waits two seconds for the others.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// The answer of a table endpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableAnswer {
    /// The endpoint listed tables.
    Serves,
    /// The endpoint is a table service, but refuses the credential.
    Refuses(String),
    /// The endpoint accepts connections, but the TLS handshake fails.
    NoTls(String),
    /// The endpoint accepts connections, but is not a working table service.
    NotTables(String),
    /// The endpoint accepts no connections.
    NoConnection,
}

/// The status from the admin port of these settings; `None` if they have no admin port, or no Partita server answers
/// there.
pub(super) async fn server_status(settings: &Settings) -> Option<Status> {
    let authority = authority(&reachable(&settings.admin.host), settings.admin.port?);
    let options = AdminOptions {
        page_timeout: STATUS_TIMEOUT,
        ..AdminOptions::default()
    };
    let url = format!("http://{authority}");
    let admin = AdminPort::new(&url, options, Arc::default()).ok()?;
    let status = admin.status().await.ok()?.document;
    (status.name == "partita").then_some(status)
}

/// The answer of the endpoint to a request with its scheme, account and key.
pub(super) async fn table_answer(endpoint: &Endpoint) -> Result<TableAnswer, CommandError> {
    // A certificate file that cannot be read is ignored: the TLS handshake below fails with a better message.
    let authority = endpoint.authority.as_ref();
    let authority = authority.and_then(|path| std::fs::read(path).ok());
    let options = ClientOptions {
        retry: RetryPolicy::None,
        attempt_timeout: TIMEOUT,
        connect_timeout: TIMEOUT,
        proxy: Proxy::Direct,
        authorities_pem: authority.into_iter().collect(),
        application: format!("partita-tools/{}", env!("CARGO_PKG_VERSION")),
        ..ClientOptions::default()
    };
    let string = endpoint.connection_string();
    let service = TableServiceClient::from_connection_string_with(&string, options)?;
    let Some(Err(error)) = service.list_tables().next().await else {
        return Ok(TableAnswer::Serves);
    };
    let (kind, status) = (error.kind(), error.status());
    let text = CommandError::from(error).chain();
    Ok(match (kind, status) {
        (ErrorKind::Connect, _) => TableAnswer::NoConnection,
        (ErrorKind::Tls, _) => TableAnswer::NoTls(text),
        (ErrorKind::Service, Some(401 | 403)) => TableAnswer::Refuses(text),
        _ => TableAnswer::NotTables(text),
    })
}
