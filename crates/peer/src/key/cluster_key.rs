//! The file of the cluster key.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use ring::digest::{SHA256, digest};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;

/// The first lines of the file.
const COMMENT: &str = "\
Partita cluster key. Every server of the cluster needs a copy of this file: partita serve --cluster-key FILE
Keep it secret: with it, any process can join the cluster and read and write all data.
";

/// The longest file that is read. A key has about 400 bytes.
const FILE_BYTES_MAX: u64 = 16 << 10;

/// How many bytes of the public key's SHA-256 the fingerprint shows.
const FINGERPRINT_BYTES: usize = 8;

/// Why a cluster key cannot be created, read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file does not exist.
    #[error(
        "cluster key {} not found: copy the key of the cluster from another server; for a new cluster, create one with \
         partita cluster key -o {}", .0.display(), .0.display()
    )]
    NotFound(PathBuf),
    /// A new key would replace a file.
    #[error(
        "{} exists, and a cluster key is never replaced: servers with different keys refuse each other. Name another \
         file, or delete this one first", .0.display()
    )]
    Exists(PathBuf),
    /// Other users can read the file.
    #[error(
        "cluster key {} can be read by other users (mode {mode:03o}): run chmod 600 {}", path.display(), path.display()
    )]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file cannot be read or written.
    #[error("cannot {what} cluster key {}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The text is not a cluster key.
    #[error("not a cluster key: {0}; create one with partita cluster key")]
    Invalid(String),
    /// The file is not a cluster key.
    #[error("{} is not a cluster key: {reason}; create one with partita cluster key", path.display())]
    InvalidFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A key or a certificate cannot be created.
    #[error("cannot create a key or certificate")]
    Create(#[from] rcgen::Error),
}

/// The private key of the authority of a cluster.
pub struct ClusterKey {
    pub(super) pair: KeyPair,
    fingerprint: String,
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClusterKey({})", self.fingerprint)
    }
}

impl ClusterKey {
    /// Creates a new key.
    ///
    /// # Errors
    /// [`KeyError::Create`].
    pub fn create() -> Result<Self, KeyError> {
        Ok(Self::of(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?))
    }

    fn of(pair: KeyPair) -> Self {
        let hash = digest(&SHA256, pair.public_key_raw());
        let shown = hash.as_ref().iter().take(FINGERPRINT_BYTES);
        let fingerprint = shown.map(|byte| format!("{byte:02x}")).collect();
        Self { pair, fingerprint }
    }

    /// Reads the text of a key: PEM, with any text before it.
    ///
    /// # Errors
    /// [`KeyError::Invalid`].
    pub fn parse(text: &[u8]) -> Result<Self, KeyError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(text)
            .map_err(|error| KeyError::Invalid(error.to_string()))?;
        let pair = KeyPair::try_from(&der).map_err(|error| KeyError::Invalid(error.to_string()))?;
        if !pair.is_compatible(&PKCS_ECDSA_P256_SHA256) {
            return Err(KeyError::Invalid("the key is not of type P-256".into()));
        }
        Ok(Self::of(pair))
    }

    /// Reads a file that only its owner can read. Blocking.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => KeyError::NotFound(path.to_owned()),
            _ => failed("open", path)(error),
        })?;
        check_mode(&file, path)?;
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut text)
            .map_err(failed("read", path))?;
        Self::parse(&text).map_err(|error| match error {
            KeyError::Invalid(reason) => KeyError::InvalidFile {
                path: path.to_owned(),
                reason,
            },
            other => other,
        })
    }

    /// Writes a new file that only its owner can read. Blocking.
    ///
    /// # Errors
    /// [`KeyError::Exists`] if there is a file already; [`KeyError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => KeyError::Exists(path.to_owned()),
            _ => failed("create", path)(error),
        })?;
        file.write_all(self.text().as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed("write", path))
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{COMMENT}{}", self.pair.serialize_pem())
    }

    /// Identifies the key without revealing it: the beginning of the public key's SHA-256.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::Io { what, path, source }
}

#[cfg(unix)]
fn check_mode(file: &File, path: &Path) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt as _;
    /// The permissions of the group and of others.
    const OTHERS: u32 = 0o077;
    let found = file.metadata().map_err(failed("open", path))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    Err(KeyError::Readable {
        path: path.to_owned(),
        mode,
    })
}

#[cfg(not(unix))]
fn check_mode(_: &File, _: &Path) -> Result<(), KeyError> {
    Ok(())
}
