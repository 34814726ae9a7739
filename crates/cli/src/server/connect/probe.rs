//! Asks a running server: its admin port for its status, and its table endpoint for an answer to a signed request.

use crate::error::CommandError;
use partita_client::{
    ClientOptions, ErrorKind, Proxy, RetryPolicy, TableServiceClient, TableStream,
};
use partita_server::config::Settings;
use partita_server::connect::{Endpoint, reachable};
use partita_tools::admin::{AdminOptions, AdminPort};
use partita_wire::admin::Status;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// For each request. A server on the same machine answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a table endpoint answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableAnswer {
    /// It listed tables.
    Serves,
    /// It is a table service, and refuses the credential.
    Refuses(String),
    /// It accepts connections, and the TLS handshake fails.
    NoTls(String),
    /// It accepts connections, and is not a table service, or not one that works.
    NotTables(String),
    /// It accepts no connections.
    NoConnection,
}

/// The status that the admin port of these settings shows; `None` where no Partita answers.
pub(super) async fn server_status(settings: &Settings) -> Option<Status> {
    let (host, port) = (reachable(&settings.admin.host), settings.admin.port?);
    let authority = match host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, port).to_string(),
        Err(_) => format!("{host}:{port}"),
    };
    let options = AdminOptions {
        page_timeout: TIMEOUT,
        ..AdminOptions::default()
    };
    let url = format!("http://{authority}");
    let admin = AdminPort::with_options(&url, options, Arc::default()).ok()?;
    let status = admin.status().await.ok()?.document;
    (status.name == "partita").then_some(status)
}

/// What the endpoint answers to a request of its account, with its scheme and its key.
pub(super) async fn table_answer(endpoint: &Endpoint) -> Result<TableAnswer, CommandError> {
    // An authority that was never made is missing: then TLS fails below, which says more.
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
    let mut tables: TableStream = service.list_tables();
    let first = std::future::poll_fn(|context| tables.as_mut().poll_next(context)).await;
    let Some(Err(error)) = first else {
        return Ok(TableAnswer::Serves);
    };
    let why = CommandError::from(error);
    let text = why.chain();
    let CommandError::Client(error) = why else {
        return Ok(TableAnswer::NotTables(text));
    };
    Ok(match (error.kind(), error.status()) {
        (ErrorKind::Connect, _) => TableAnswer::NoConnection,
        (ErrorKind::Tls, _) => TableAnswer::NoTls(text),
        (ErrorKind::Service, Some(401 | 403)) => TableAnswer::Refuses(text),
        _ => TableAnswer::NotTables(text),
    })
}
