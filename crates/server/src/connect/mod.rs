//! How to point a client at a server: endpoint, connection string, and text to paste.
//!
//! Everything is derived from settings, as the server itself reads them. Whether a server answers there is for the caller to ask.

mod snippet;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;

use crate::config::{Account, AccountKey, Settings, Tls};
use crate::tls;

pub use snippet::{Tool, snippet, trust_lines};

/// Where a client connects, with which account.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// A name or address that clients on this machine can use.
    pub host: String,
    /// The table port.
    pub port: u16,
    /// The account; its first key is used.
    pub account: Account,
    /// The certificate that clients must be told to trust.
    pub authority: Option<PathBuf>,
}

impl Endpoint {
    /// The endpoint of a server with these settings, for the first account or the named one. `None` if no account has
    /// that name.
    pub fn of(settings: &Settings, account: Option<&str>) -> Option<Endpoint> {
        let wanted = |known: &&Account| account.is_none_or(|name| known.name() == name);
        let account = settings.accounts.iter().find(wanted)?.clone();
        let authority = (settings.tls == Tls::Dev).then(|| {
            let path = tls::authority_certificate(&tls::authority_directory(settings));
            std::path::absolute(&path).unwrap_or(path)
        });
        Some(Endpoint {
            scheme: settings.tls.scheme(),
            host: reachable(&settings.table.host),
            port: settings.table.port,
            account,
            authority,
        })
    }

    /// The base URL of the account's tables, in path style.
    pub fn url(&self) -> String {
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.clone(),
        };
        format!(
            "{}://{host}:{}/{}",
            self.scheme,
            self.port,
            self.account.name()
        )
    }

    /// The connection string, in the explicit form that every client accepts.
    pub fn connection_string(&self) -> String {
        format!(
            "DefaultEndpointsProtocol={};AccountName={};AccountKey={};TableEndpoint={};",
            self.scheme,
            self.account.name(),
            self.key(),
            self.url()
        )
    }

    /// The connection string for places such as logs: it has the key only if that key is public.
    pub fn public_connection_string(&self) -> String {
        let public = |key: &AccountKey| key.is_well_known();
        if self.account.keys().first().is_none_or(public) {
            return self.connection_string();
        }
        format!(
            "DefaultEndpointsProtocol={};AccountName={};TableEndpoint={}; (`partita connect` prints it with its key)",
            self.scheme,
            self.account.name(),
            self.url()
        )
    }

    pub(crate) fn key(&self) -> String {
        self.account
            .keys()
            .first()
            .map(|key| key.to_base64())
            .unwrap_or_default()
    }
}

/// The host to connect to for a server that listens on `host`: "all addresses" is not one.
pub fn reachable(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1".to_owned(),
        _ => host.to_owned(),
    }
}
