//! The registry in etcd 3.4 and later, over its gRPC API.
//!
//! The client is HTTP/2 by `h2`, which the workspace has anyway, and about ten messages that are encoded by hand: etcd's
//! own JSON gateway and other clients are compared in `docs/design/0008-coordination.md`.
//!
//! All calls share one connection. A call that takes too long closes it, so that a watch on a silent connection ends, too;
//! the next call connects to the next member.

mod config;
mod connection;
mod grpc;
mod messages;
mod protobuf;

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use partita_rt::Tasks;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use crate::registry::{
    Entry, Granted, LeaseId, Listing, Outcome, Registry, RegistryError, Revision, Transaction,
    Watch, WatchEvent,
};

pub use config::{EtcdConfig, EtcdConfigError, EtcdTls};
use connection::{Connection, connector};
use grpc::{CallError, Messages};
use messages::Keys;
use protobuf::Invalid;

/// How long a keepalive may take. etcd answers from memory, and a gate has only the TTL.
const KEEP_ALIVE_WITHIN: Duration = Duration::from_millis(600);

/// How long other calls may take. etcd syncs writes to the disks of a majority.
const CALL_WITHIN: Duration = Duration::from_secs(3);

/// A registry in etcd.
#[derive(Debug)]
pub struct EtcdRegistry {
    endpoints: Vec<(String, u16)>,
    keys: Keys,
    tls: Option<Tls>,
    user: Option<(String, String)>,
    connected: Mutex<Connected>,
    /// Allows one caller to connect while the others wait.
    connecting: Semaphore,
    /// The tasks of connections, which end with the registry.
    tasks: Tasks,
}

#[derive(Debug, Default)]
struct Connected {
    connection: Option<Connection>,
    /// The endpoint to connect to next.
    next: usize,
}

struct Tls(TlsConnector);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl EtcdRegistry {
    /// A registry that connects when it is used. Reads the files of TLS.
    ///
    /// # Errors
    /// When a file of TLS cannot be read or is not valid.
    pub fn new(config: EtcdConfig) -> io::Result<Self> {
        Ok(Self {
            tls: config.tls.as_ref().map(connector).transpose()?.map(Tls),
            endpoints: config.endpoints,
            keys: Keys {
                prefix: config.prefix,
            },
            user: config.user,
            connected: Mutex::default(),
            connecting: Semaphore::new(1),
            tasks: Tasks::new(),
        })
    }

    /// Whether this etcd can end leases that are alive: with several members, an old leader that was stopped did so before
    /// 3.4.31 and 3.5.13 (etcd issue 15247). Reads must be confirmed then.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn ends_live_leases(&self) -> Result<bool, RegistryError> {
        let members = self.call("Cluster/MemberList", &[], CALL_WITHIN).await?;
        if messages::members(members).map_err(invalid)? < 2 {
            return Ok(false);
        }
        let status = self.call("Maintenance/Status", &[], CALL_WITHIN).await?;
        let version = messages::text(status).map_err(invalid)?;
        Ok(version_ends_live_leases(&version))
    }

    /// The connection, or a new one to the next member.
    async fn connection(&self) -> Result<Connection, CallError> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        // Fails only when the semaphore is closed, which it never is.
        let _turn = self.connecting.acquire().await;
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let mut last = CallError::NotSent("no member is configured".to_owned());
        for _ in &self.endpoints {
            let endpoint = {
                let mut connected = self.connected.lock();
                let index = connected.next % self.endpoints.len();
                connected.next = index + 1;
                &self.endpoints[index]
            };
            let tls = self.tls.as_ref().map(|tls| &tls.0);
            match Connection::open(endpoint, tls, self.user.as_ref(), &self.tasks).await {
                Ok(connection) => {
                    self.connected.lock().connection = Some(connection.clone());
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(match last {
            // Nothing of the caller's was sent.
            CallError::Broken(why) => CallError::NotSent(why),
            other => other,
        })
    }

    fn current(&self) -> Option<Connection> {
        let connection = self.connected.lock().connection.clone();
        connection.filter(Connection::is_open)
    }

    /// Makes a call with one message each way.
    async fn call(
        &self,
        method: &str,
        message: &[u8],
        limit: Duration,
    ) -> Result<Bytes, RegistryError> {
        let connection = self.connection().await?;
        let calling = async {
            let call = connection.send(method, message, false).await?;
            call.message().await
        };
        let answer = tokio::time::timeout(limit, calling)
            .await
            .unwrap_or_else(|_| Err(CallError::Broken("timed out".to_owned())));
        if let Err(error) = &answer {
            close_after(error, &connection);
        }
        Ok(answer?)
    }
}

impl Drop for EtcdRegistry {
    fn drop(&mut self) {
        self.tasks.shut_down();
    }
}

/// Closes the connection after an error that another connection may not have.
fn close_after(error: &CallError, connection: &Connection) {
    let healthy = match error {
        CallError::NotSent(_) | CallError::Broken(_) => false,
        CallError::Status(status) => !status.is_unauthenticated() && !status.is_of_member(),
    };
    if !healthy {
        connection.close();
    }
}

fn invalid(_: Invalid) -> RegistryError {
    RegistryError::Unknown("the answer is not valid protobuf".to_owned())
}

/// Whether this version lacks the fix of etcd issue 15247. An unknown version has it.
fn version_ends_live_leases(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let mut next = || parts.next().flatten();
    match (next(), next(), next()) {
        (Some(3), Some(4), Some(patch)) => patch < 31,
        (Some(3), Some(5), Some(patch)) => patch < 13,
        (Some(3), Some(minor), _) => minor < 4,
        _ => false,
    }
}

#[async_trait]
impl Registry for EtcdRegistry {
    async fn get(&self, key: &str) -> Result<Option<Entry>, RegistryError> {
        let answer = self
            .call("KV/Range", &self.keys.get(key), CALL_WITHIN)
            .await?;
        let listing = self.keys.listing(answer).map_err(invalid)?;
        Ok(listing.entries.into_iter().next())
    }

    async fn list(&self, prefix: &str) -> Result<Listing, RegistryError> {
        let answer = self
            .call("KV/Range", &self.keys.list(prefix), CALL_WITHIN)
            .await?;
        self.keys.listing(answer).map_err(invalid)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Outcome, RegistryError> {
        let message = self.keys.transaction(&transaction);
        let answer = self.call("KV/Txn", &message, CALL_WITHIN).await?;
        self.keys.outcome(answer).map_err(invalid)
    }

    async fn watch(&self, prefix: &str, from: Revision) -> Result<Box<dyn Watch>, RegistryError> {
        let connection = self.connection().await?;
        let message = self.keys.watch(prefix, from);
        let opening = async {
            let call = connection.send("Watch/Watch", &message, true).await?;
            let mut messages = call.messages().await?;
            // etcd confirms the watch, or says that its start was compacted.
            let first = messages.next().await?;
            Ok((messages, first))
        };
        let opened = tokio::time::timeout(CALL_WITHIN, opening)
            .await
            .unwrap_or_else(|_| Err(CallError::Broken("timed out".to_owned())));
        if let Err(error) = &opened {
            close_after(error, &connection);
        }
        let (messages, first) = opened?;
        Ok(Box::new(EtcdWatch {
            messages,
            first,
            keys: self.keys.clone(),
        }))
    }

    async fn grant(&self, ttl: Duration) -> Result<Granted, RegistryError> {
        let message = messages::grant(ttl);
        let answer = self.call("Lease/LeaseGrant", &message, CALL_WITHIN).await?;
        messages::granted(answer).map_err(invalid)
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Option<Duration>, RegistryError> {
        let message = messages::of_lease(lease);
        let answer = self
            .call("Lease/LeaseKeepAlive", &message, KEEP_ALIVE_WITHIN)
            .await?;
        let kept = messages::granted(answer).map_err(invalid)?;
        Ok(Some(kept.ttl).filter(|ttl| !ttl.is_zero()))
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), RegistryError> {
        let message = messages::of_lease(lease);
        match self.call("Lease/LeaseRevoke", &message, CALL_WITHIN).await {
            Ok(_) | Err(RegistryError::LeaseEnded) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

struct EtcdWatch {
    messages: Messages,
    /// The message that confirmed the watch.
    first: Option<Bytes>,
    keys: Keys,
}

#[async_trait]
impl Watch for EtcdWatch {
    async fn next(&mut self) -> WatchEvent {
        loop {
            let message = match self.first.take() {
                Some(first) => Ok(Some(first)),
                None => self.messages.next().await,
            };
            let Ok(Some(message)) = message else {
                return WatchEvent::Lost;
            };
            match self.keys.watched(message) {
                Ok(watched) if watched.compacted => return WatchEvent::Compacted,
                Ok(watched) if !watched.canceled && watched.changes.is_empty() => {}
                Ok(watched) if !watched.canceled => {
                    return WatchEvent::Changed(watched.revision, watched.changes);
                }
                Ok(_) | Err(Invalid) => return WatchEvent::Lost,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::version_ends_live_leases;

    #[test]
    fn versions_with_the_fault() {
        for (version, has_fault) in [
            ("3.4.23", true),
            ("3.4.30", true),
            ("3.4.31", false),
            ("3.5.12", true),
            ("3.5.13", false),
            ("3.6.0", false),
            ("3.3.27", true),
            ("4.0.0", false),
            ("3.5.x", false),
        ] {
            assert_eq!(version_ends_live_leases(version), has_fault, "{version}");
        }
    }
}
