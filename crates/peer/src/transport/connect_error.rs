//! Why two servers do not connect: the cause, and what to do.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError};

use super::Address;
use super::greeting::VERSION;
use crate::key::{ServerName, WrongName};

/// Why a connection to a peer failed. No request was sent.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No connection.
    #[error(
        "cannot connect to server {name} at {address}: check that it runs, that it advertises this address, and that no \
         firewall is between"
    )]
    Unreachable {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
        /// The system's reason.
        source: io::Error,
    },
    /// No connection in time.
    #[error(
        "connecting to server {name} at {address} timed out after {limit:?}: check that it is not overloaded, and that \
         no firewall is between"
    )]
    TimedOut {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
        /// The time limit.
        limit: Duration,
    },
    /// The peer has another cluster key.
    #[error(
        "server {name} at {address} has another cluster key than this server (fingerprint {fingerprint}): copy the file \
         of --cluster-key from one server to all others"
    )]
    WrongKey {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
        /// The fingerprint of this server's key.
        fingerprint: String,
    },
    /// The certificate of the peer is not valid at this server's time.
    #[error(
        "the certificate of server {name} at {address} has expired or is not valid yet by this server's clock: set the \
         clocks of both servers, for example with NTP"
    )]
    Expired {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
    },
    /// Another server of the cluster listens there.
    #[error(
        "the server at {address} is named {found}, not {name}: check --server-name and --advertise of both servers"
    )]
    WrongName {
        /// The expected name.
        name: ServerName,
        /// The address.
        address: Address,
        /// The name of the server there.
        found: String,
    },
    /// The peer refused this server's certificate.
    #[error(
        "server {name} at {address} refused the certificate of this server ({alert}): copy the file of --cluster-key \
         from one server to all others, and set the clocks of both servers"
    )]
    Refused {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
        /// What the peer said.
        alert: String,
    },
    /// The peer speaks another version.
    #[error(
        "server {name} at {address} speaks version {theirs} of the peer protocol, this server version {VERSION}: upgrade \
         the older one"
    )]
    Version {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
        /// The version of the peer.
        theirs: u8,
    },
    /// The handshake failed otherwise.
    #[error(
        "the server at {address} is not a peer of this cluster: check the port that {name} advertises"
    )]
    NotAPeer {
        /// The name of the server.
        name: ServerName,
        /// Its address.
        address: Address,
        /// What was received instead.
        source: io::Error,
    },
    /// The own certificate cannot be used.
    #[error("cannot use the cluster key")]
    Key(#[from] crate::key::KeyError),
    /// This process shuts down.
    #[error("this server is shutting down")]
    ShuttingDown,
}

/// Whom a connection is for, to name it in errors.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) name: ServerName,
    pub(super) address: Address,
    /// The fingerprint of the own key.
    pub(super) fingerprint: String,
}

impl Target {
    pub(super) fn unreachable(&self, source: io::Error) -> ConnectError {
        ConnectError::Unreachable {
            name: self.name.clone(),
            address: self.address.clone(),
            source,
        }
    }

    pub(super) fn timed_out(&self, limit: Duration) -> ConnectError {
        ConnectError::TimedOut {
            name: self.name.clone(),
            address: self.address.clone(),
            limit,
        }
    }

    pub(super) fn version(&self, theirs: u8) -> ConnectError {
        ConnectError::Version {
            name: self.name.clone(),
            address: self.address.clone(),
            theirs,
        }
    }

    pub(super) fn not_a_peer(&self, source: io::Error) -> ConnectError {
        ConnectError::NotAPeer {
            name: self.name.clone(),
            address: self.address.clone(),
            source,
        }
    }

    /// The cause of a failed handshake.
    pub(super) fn handshake(&self, error: io::Error) -> ConnectError {
        let tls = error.get_ref();
        let tls = tls.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let (name, address) = (self.name.clone(), self.address.clone());
        match tls {
            Some(rustls::Error::InvalidCertificate(certificate)) => self.certificate(certificate),
            Some(rustls::Error::AlertReceived(alert)) => ConnectError::Refused {
                name,
                address,
                alert: alert_text(*alert),
            },
            _ => self.not_a_peer(error),
        }
    }

    fn certificate(&self, error: &CertificateError) -> ConnectError {
        let (name, address) = (self.name.clone(), self.address.clone());
        match error {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                ConnectError::Expired { name, address }
            }
            CertificateError::Other(other)
                if let Some(wrong) = other.0.downcast_ref::<WrongName>() =>
            {
                let found = wrong.found.as_ref();
                ConnectError::WrongName {
                    name,
                    address,
                    found: found.map_or_else(|| "nothing".to_owned(), ToString::to_string),
                }
            }
            _ => ConnectError::WrongKey {
                name,
                address,
                fingerprint: self.fingerprint.clone(),
            },
        }
    }
}

/// What a peer says when it refuses a certificate.
fn alert_text(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnknownCA => "unknown authority".to_owned(),
        AlertDescription::CertificateExpired => "certificate expired".to_owned(),
        AlertDescription::CertificateRequired => "certificate required".to_owned(),
        other => format!("{other:?}"),
    }
}
