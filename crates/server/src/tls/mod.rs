//! HTTPS on the table port: certificates from PEM or PFX files, or from a local authority that the server creates.
//!
//! Promises: TLS 1.2 and 1.3 by `rustls` with `ring`; HTTP/1.1 is the only protocol offered; a certificate and a key
//! that do not match are refused at start; no error shows a password or a key.

mod authority;
mod files;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita_rt::Clock;
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::{Place, Settings, Tls};

pub use authority::{CERTIFICATE, TRUST_VARIABLES};

/// Why HTTPS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file does not contain what is expected.
    #[error("no valid {what} in {}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The expected content.
        what: &'static str,
        /// Why the file is not valid.
        reason: String,
    },
    /// The certificate does not match its key, or the key's type is not supported.
    #[error("cannot use the certificate with its key")]
    Rejected(#[from] rustls::Error),
    /// A certificate cannot be created.
    #[error("the local authority cannot create a certificate")]
    Authority(#[from] rcgen::Error),
}

impl Error {
    fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { what, path, source }
    }
}

/// A certificate chain, leaf first, and the leaf's key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// What the table port needs to serve HTTPS.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The TLS settings of the table port.
    pub config: Arc<ServerConfig>,
    /// The authority certificate that clients have to trust; with `--tls dev` only.
    pub authority: Option<PathBuf>,
}

/// Loads the certificate of the settings, or creates it. `None` for plain HTTP. Blocking: reads and writes a few small
/// files.
///
/// # Errors
/// See [`Error`].
pub fn load(settings: &Settings, clock: &dyn Clock) -> Result<Option<Loaded>, Error> {
    let (identity, authority) = match &settings.tls {
        Tls::Off => return Ok(None),
        Tls::Pem { cert, key } => (files::pem(cert, key)?, None),
        Tls::Pfx { file, password } => (files::pfx(file, &password.0)?, None),
        Tls::Dev => {
            let directory = authority_directory(settings);
            let (identity, authority) =
                authority::issue(&directory, &names(settings), clock.now())?;
            (identity, Some(authority))
        }
    };
    Ok(Some(Loaded {
        config: server_config(identity)?,
        authority,
    }))
}

fn server_config((chain, key): Identity) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Session tickets: returning clients need no new signature, and the server stores no sessions.
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    Ok(Arc::new(config))
}

/// The directory of the local authority: in the data directory or, without one, in the user's settings
/// directory. So it outlives a restart, and clients that trust it keep working.
pub(crate) fn authority_directory(settings: &Settings) -> PathBuf {
    let of_user = || {
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let config = absolute("XDG_CONFIG_HOME");
        let config = config.or_else(|| Some(absolute("HOME")?.join(".config")));
        Some(config?.join("partita"))
    };
    let home = match &settings.store.place {
        Place::Directory(path) => path.clone(),
        Place::Memory | Place::ObjectStore(_) => {
            of_user().unwrap_or_else(|| settings.store.location.clone())
        }
    };
    home.join("tls")
}

/// Every host name under which clients may connect to the server.
fn names(settings: &Settings) -> Vec<String> {
    let loopback = ["localhost", "127.0.0.1", "::1", "*.localhost"];
    let mut names: Vec<String> = loopback.map(str::to_owned).into();
    let suffixes = settings.table.host_suffixes.iter().map(String::as_str);
    for suffix in suffixes.chain(["localhost"]) {
        names.push(format!("*.{suffix}"));
        // Some clients refuse wildcards below reserved or top-level names.
        for account in &settings.accounts {
            names.push(format!("{}.{suffix}", account.name));
            names.push(format!("{}-secondary.{suffix}", account.name));
        }
    }
    names.push(settings.table.host.clone());
    names.sort();
    names.dedup();
    names
}
