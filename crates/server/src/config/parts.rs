//! The settings as types that cannot be wrong, one struct per part of the server.

use std::path::PathBuf;
use std::time::Duration;

use partita_cluster::BalanceSettings;
use partita_table::TargetSettings;

use super::accounts::Account;

/// Everything the server is told at start. Read once; nothing changes while it runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where and how tables are served.
    pub table: TableListener,
    /// The admin port.
    pub admin: AdminListener,
    /// Where the data lies.
    pub store: Store,
    /// The accounts, at least one, names unique.
    pub accounts: Vec<Account>,
    /// HTTP or HTTPS.
    pub tls: Tls,
    /// Bearer tokens.
    pub oauth: Oauth,
    /// Bounds for everything a stranger controls.
    pub limits: Limits,
    /// Scalability targets; none by default.
    pub targets: TargetSettings,
    /// What is logged, and where.
    pub log: Log,
}

/// The listener of the table service.
#[derive(Debug, Clone)]
pub struct TableListener {
    /// An address, or a name that resolves to one.
    pub host: String,
    /// 0 picks a free port.
    pub port: u16,
    /// What the `Keep-Alive` header promises, whole seconds.
    pub keep_alive: Duration,
    /// Host names of the form `account.suffix` (or `account-secondary.suffix`) name the account.
    pub host_suffixes: Vec<String>,
    /// Azurite's rule: any host name with a dot that is no address names the account with its first label.
    pub product_style_url: bool,
}

/// The listener of the admin API.
#[derive(Debug, Clone)]
pub struct AdminListener {
    /// An address, or a name that resolves to one.
    pub host: String,
    /// None when switched off by port 0.
    pub port: Option<u16>,
}

/// Where the data lies, and the memory spent on it.
#[derive(Debug, Clone)]
pub struct Store {
    /// Directory or memory.
    pub place: Place,
    /// The directory setting, which `--tls dev` uses even when entities stay in memory.
    pub location: PathBuf,
    /// Memory for blocks of the store, in bytes.
    pub block_cache_bytes: u64,
    /// Memory for single entities, in bytes.
    pub entity_cache_bytes: u64,
    /// How long files that nobody needs any more are kept for scans that began before.
    pub garbage_age: Duration,
    /// Where backups and restored stores may be written.
    pub backup_places: Vec<partita_rt::Place>,
    /// When ranges are split and merged unasked, if at all.
    pub balance: Option<BalanceSettings>,
}

/// What holds the entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This directory; acknowledged writes survive a power cut.
    Directory(PathBuf),
    /// This process; everything is gone when it ends.
    Memory,
}

/// How the table port is protected.
#[derive(Clone, PartialEq, Eq)]
pub enum Tls {
    /// Plain HTTP.
    Off,
    /// HTTPS by a local authority made by the server itself.
    Dev,
    /// HTTPS by a certificate chain and its key, both PEM.
    Pem {
        /// The chain, leaf first.
        cert: PathBuf,
        /// The private key (PKCS#8, PKCS#1 or SEC1).
        key: PathBuf,
    },
    /// HTTPS by a PFX (PKCS#12) file that holds both.
    Pfx {
        /// The file.
        file: PathBuf,
        /// Its password, may be empty.
        password: String,
    },
}

impl Tls {
    /// True when the table port speaks HTTPS.
    pub fn is_on(&self) -> bool {
        *self != Tls::Off
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_on() { "https" } else { "http" }
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tls::Off => f.write_str("Off"),
            Tls::Dev => f.write_str("Dev"),
            Tls::Pem { cert, key } => f
                .debug_struct("Pem")
                .field("cert", cert)
                .field("key", key)
                .finish(),
            Tls::Pfx { file, password: _ } => f
                .debug_struct("Pfx")
                .field("file", file)
                .finish_non_exhaustive(),
        }
    }
}

/// Which bearer tokens are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oauth {
    /// None: they get the 401 challenge.
    Off,
    /// Azurite's `--oauth basic`: claims are checked, signatures are not.
    Basic,
    /// Tokens of one issuer, signatures checked.
    Verified {
        /// The `iss` claim.
        issuer: String,
        /// The `aud` claims, at least one.
        audiences: Vec<String>,
        /// File with the issuer's public keys (JSON Web Key Set).
        jwks: PathBuf,
    },
}

/// Bounds for everything a stranger controls. The protocol's own limits (entity size, filter depth, operations of a
/// batch) are fixed and live with the protocol.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open client connections; further ones wait in the listen queue.
    pub connections_max: usize,
    /// Request line and headers together, in bytes.
    pub header_bytes_max: usize,
    /// Body of one request, in bytes.
    pub body_bytes_max: usize,
    /// From the end of a request's headers to the start of the answer.
    pub request_timeout: Duration,
    /// For the headers of one request, and for the TLS handshake.
    pub header_timeout: Duration,
    /// For a client that neither sends nor takes a byte within a request.
    pub stall_timeout: Duration,
    /// For a connection between requests.
    pub idle_timeout: Duration,
    /// For requests under way at shutdown.
    pub drain_timeout: Duration,
    /// Entity group transactions under way at once; further ones wait.
    pub batches_max: usize,
}

/// What is logged, and where.
#[derive(Debug, Clone)]
pub struct Log {
    /// Lowest level that is shown; `Error` under `--silent`.
    pub level: tracing::Level,
    /// Text for people or JSON for collectors.
    pub format: LogFormat,
    /// Every request is appended here.
    pub debug_file: Option<PathBuf>,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One line for people.
    Text,
    /// One JSON object.
    Json,
}
