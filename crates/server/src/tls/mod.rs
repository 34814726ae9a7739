//! HTTPS on the table port: certificates from PEM or PFX files, or from a local authority made on the spot.
//!
//! Promises: TLS 1.2 and 1.3 by `rustls` with `ring`; HTTP/1.1 is the only protocol offered; a certificate and a key that
//! do not belong together are refused at start; no error shows a password or a key.

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

pub use authority::TRUST_VARIABLES;

/// Why HTTPS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no usable {what}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
        /// Why it was not found.
        reason: String,
    },
    /// Certificate and key do not go together, or the key is of a kind that is not supported.
    #[error("the certificate and its key cannot be used")]
    Rejected(#[from] rustls::Error),
    /// A certificate could not be made.
    #[error("the local authority cannot make a certificate")]
    Authority(#[from] rcgen::Error),
}

/// A certificate chain, leaf first, and the leaf's key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// What the table port needs to speak HTTPS.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// For the acceptor.
    pub config: Arc<ServerConfig>,
    /// The certificate that clients have to trust; under `--tls dev` only.
    pub authority: Option<PathBuf>,
}

/// Loads or makes what the settings ask for. None for plain HTTP. Blocking: reads and writes a few small files.
///
/// # Errors
/// See [`Error`].
pub fn load(settings: &Settings, clock: &dyn Clock) -> Result<Option<Loaded>, Error> {
    let (identity, authority) = match &settings.tls {
        Tls::Off => return Ok(None),
        Tls::Pem { cert, key } => (files::pem(cert, key)?, None),
        Tls::Pfx { file, password } => (files::pfx(file, password)?, None),
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
    // Tickets spare a client that comes back the signature, and the server a table of sessions.
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    Ok(Arc::new(config))
}

/// Where the local authority lives: with the data, or, when there is none, where users' settings are kept, so that
/// clients go on trusting it.
pub fn authority_directory(settings: &Settings) -> PathBuf {
    let of_user = || {
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let config =
            absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
        Some(config.join("partita"))
    };
    let home = match &settings.store.place {
        Place::Directory(path) => path.clone(),
        Place::Memory => of_user().unwrap_or_else(|| settings.store.location.clone()),
    };
    home.join("tls")
}

/// The certificate of the authority in `directory`, whether it is there yet or not.
pub fn authority_certificate(directory: &Path) -> PathBuf {
    directory.join(authority::CERTIFICATE)
}

/// Every name under which clients of this machine may call the server.
fn names(settings: &Settings) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1", "*.localhost"]
        .map(str::to_owned)
        .into();
    let suffixes = settings
        .table
        .host_suffixes
        .iter()
        .map(String::as_str)
        .chain(["localhost"]);
    for suffix in suffixes {
        names.push(format!("*.{suffix}"));
        // Some clients refuse wildcards under a reserved or a top-level name.
        for account in &settings.accounts {
            names.push(format!("{}.{suffix}", account.name()));
            names.push(format!("{}-secondary.{suffix}", account.name()));
        }
    }
    names.push(settings.table.host.clone());
    names.sort();
    names.dedup();
    names
}
