//! How to connect a client to a server: endpoint, connection string, and text to paste.
//!
//! All of this is computed from the server's settings. This module does not check that a server answers.

mod snippet;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use crate::config::{Account, AccountKey, Settings, Tls};
use crate::tls;

pub use snippet::{Tool, snippet, trust_lines};

/// Where a client connects, with which account.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// A host name or address for clients on this machine.
    pub host: String,
    /// The table port.
    pub port: u16,
    /// Host and port of the queues; `None` if the server has no queues.
    pub queue: Option<(String, u16)>,
    /// The account; its first key is used.
    pub account: Account,
    /// The certificate that clients have to trust; with `--tls dev` only.
    pub authority: Option<PathBuf>,
}

impl Endpoint {
    /// The endpoint of a server with these settings, for the first account or the named one. `None` if no account has
    /// that name.
    pub fn of(settings: &Settings, account: Option<&str>) -> Option<Endpoint> {
        let wanted = |known: &&Account| account.is_none_or(|name| known.name == name);
        let account = settings.accounts.iter().find(wanted)?.clone();
        let authority = (settings.tls == Tls::Dev).then(|| {
            let path = tls::authority_directory(settings).join(tls::CERTIFICATE);
            std::path::absolute(&path).unwrap_or(path)
        });
        let queue = settings.queue.as_ref();
        Some(Endpoint {
            scheme: settings.tls.scheme(),
            host: reachable(&settings.table.host),
            port: settings.table.port,
            queue: queue.map(|queue| (reachable(&queue.host), queue.port)),
            account,
            authority,
        })
    }

    /// The base URL of the account's tables, in path style.
    pub fn url(&self) -> String {
        self.url_at(&self.host, self.port)
    }

    /// The base URL of the account's queues, in path style; `None` if the server has no queues.
    pub fn queue_url(&self) -> Option<String> {
        let (host, port) = self.queue.as_ref()?;
        Some(self.url_at(host, *port))
    }

    fn url_at(&self, host: &str, port: u16) -> String {
        let (scheme, account) = (self.scheme, &self.account.name);
        format!("{scheme}://{}/{account}", authority(host, port))
    }

    /// The connection string, in the explicit form that every client accepts.
    pub fn connection_string(&self) -> String {
        let [start, end] = self.string_without_key();
        format!("{start}AccountKey={};{end}", self.key())
    }

    /// The connection string for places such as logs: it has the key only if that key is public.
    pub fn public_connection_string(&self) -> String {
        let key = self.account.keys.first();
        if key.is_none_or(AccountKey::is_well_known) {
            return self.connection_string();
        }
        let string = self.string_without_key().concat();
        format!("{string} (`partita connect` prints it with its key)")
    }

    fn string_without_key(&self) -> [String; 2] {
        let (scheme, account) = (self.scheme, &self.account.name);
        let queues = self.queue_url();
        let queues = queues.map(|url| format!("QueueEndpoint={url};"));
        let (queues, tables) = (queues.unwrap_or_default(), self.url());
        [
            format!("DefaultEndpointsProtocol={scheme};AccountName={account};"),
            format!("{queues}TableEndpoint={tables};"),
        ]
    }

    pub(crate) fn key(&self) -> String {
        let key = self.account.keys.first();
        key.map(AccountKey::to_base64).unwrap_or_default()
    }
}

/// Host and port as URLs write them: an IPv6 address stands in brackets.
pub fn authority(host: &str, port: u16) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, port).to_string(),
        Err(_) => format!("{host}:{port}"),
    }
}

/// The host to connect to for a server that listens on `host`: loopback if that means all addresses.
pub fn reachable(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1".to_owned(),
        _ => host.to_owned(),
    }
}
