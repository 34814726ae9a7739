//! Typed settings, checked and complete, one struct per part of the server.

use std::path::PathBuf;
use std::time::Duration;

use partita_cluster::BalanceSettings;
use partita_coordinator::{EtcdConfig, Role};
use partita_peer::ServerName;
use partita_table::TargetSettings;

use super::accounts::Account;

/// All settings of a server. Read once at start; constant while it runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The table endpoint.
    pub table: ServiceListener,
    /// The queue endpoint; `None` if queues are not served.
    pub queue: Option<ServiceListener>,
    /// The admin port.
    pub admin: AdminListener,
    /// Where data is stored.
    pub store: Store,
    /// The cluster; `None` for a server that has its store alone.
    pub cluster: Option<ClusterSettings>,
    /// The accounts, at least one, names unique.
    pub accounts: Vec<Account>,
    /// HTTP or HTTPS on the ports of the services.
    pub tls: Tls,
    /// Bearer tokens.
    pub oauth: Oauth,
    /// Bounds of what clients can use.
    pub limits: Limits,
    /// Scalability targets of tables and accounts; none by default.
    pub targets: TargetSettings,
    /// Scalability targets of queues; none by default.
    pub queue_targets: partita_queue::TargetSettings,
    /// Level and format of the log, and the debug file.
    pub log: Log,
}

/// The listener of a storage service.
#[derive(Debug, Clone)]
pub struct ServiceListener {
    /// An address, or a name that resolves to one.
    pub host: String,
    /// 0 picks a free port.
    pub port: u16,
    /// The timeout in the `Keep-Alive` header, whole seconds.
    pub keep_alive: Duration,
    /// Host names of the form `account.suffix` (or `account-secondary.suffix`) select the account.
    pub host_suffixes: Vec<String>,
    /// Azurite's rule: the first label of any host name with a dot that is not an address is the account.
    pub product_style_url: bool,
}

/// The listener of the admin API.
#[derive(Debug, Clone)]
pub struct AdminListener {
    /// An address, or a name that resolves to one.
    pub host: String,
    /// `None` when disabled by port 0.
    pub port: Option<u16>,
    /// Whether a free port is taken if `port` is in use: the port is the default, which no setting chose.
    pub or_free: bool,
}

/// Where data is stored, and the memory used for it.
#[derive(Debug, Clone)]
pub struct Store {
    /// Directory, object store or memory.
    pub place: Place,
    /// The directory setting; `--tls dev` uses it even when data is kept in memory.
    pub location: PathBuf,
    /// Memory for the block cache, in bytes.
    pub block_cache_bytes: u64,
    /// Memory for the entity cache, in bytes.
    pub entity_cache_bytes: u64,
    /// What reads the files of the store.
    pub reader: partita_engine::slate::Reads,
    /// How long unused files are kept for scans that started earlier. Removed databases stay in the trash as long, at
    /// most three minutes.
    pub garbage_age: Duration,
    /// Bytes per second that the scrub reads; 0 for never.
    pub scrub_rate: u64,
    /// Where backups and restored stores may be written.
    pub backup_places: Vec<partita_rt::Place>,
    /// When ranges are split and merged automatically; `None` for never.
    pub balance: Option<BalanceSettings>,
}

/// Where the data is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This directory; acknowledged writes survive a power cut.
    Directory(PathBuf),
    /// An object store; acknowledged writes survive the loss of this machine.
    ObjectStore(ObjectStorePlace),
    /// The memory of this process; data is lost when it ends.
    Memory,
}

/// The object stores of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStorePlace {
    /// The store of all files.
    pub files: partita_rt::Place,
    /// The store of the log, unless it is that of the files.
    pub log: Option<partita_rt::Place>,
    /// The least time between the starts of two writes of the log.
    pub log_gap: Duration,
    /// The cache of its files on a disk of this machine.
    pub disk_cache: Option<DiskCacheSettings>,
}

/// A cache of files of an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskCacheSettings {
    /// The directory.
    pub folder: PathBuf,
    /// The most bytes in it.
    pub bytes_max: u64,
}

impl Place {
    /// The data in messages, such as `the data directory partita-data`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Directory(path) => format!("the data directory {}", path.display()),
            Self::ObjectStore(store) => format!("the store {}", store.files.url()),
            Self::Memory => "the data in memory".to_owned(),
        }
    }
}

/// The cluster of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// How etcd is reached.
    pub etcd: EtcdConfig,
    /// The file of the cluster key.
    pub key: PathBuf,
    /// The name of this server; `None` for its address.
    pub name: Option<ServerName>,
    /// The address of the port for other servers.
    pub peer_host: String,
    /// The port for other servers; 0 picks a free one.
    pub peer_port: u16,
    /// The host at which other servers reach this one.
    pub advertise: String,
    /// What this server does, at least one role.
    pub roles: Vec<Role>,
    /// The requested time to live of the lease.
    pub lease: Duration,
    /// How long all servers must have supported the next cluster version before it becomes active without a request.
    pub finalize_after: Duration,
    /// The directory with the lock and the last life; `None` for one in `state_home` that is named after the server.
    pub state_dir: Option<PathBuf>,
    /// The directory of the state directories of all servers of the user.
    pub state_home: PathBuf,
}

/// How the ports of the services are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Plain HTTP.
    Off,
    /// HTTPS with a certificate of the server's own local authority.
    Dev,
    /// HTTPS with a certificate chain and its key, both PEM.
    Pem {
        /// The chain, leaf first.
        cert: PathBuf,
        /// The private key (PKCS#8, PKCS#1 or SEC1).
        key: PathBuf,
    },
    /// HTTPS with a PFX (PKCS#12) file that holds both.
    Pfx {
        /// The file.
        file: PathBuf,
        /// Its password, may be empty.
        password: Password,
    },
}

impl Tls {
    /// True when the services use HTTPS.
    pub fn is_on(&self) -> bool {
        *self != Tls::Off
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_on() { "https" } else { "http" }
    }
}

/// A password, hidden from `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub(crate) String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Which bearer tokens are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oauth {
    /// No tokens: a request with a token is refused. From API version 2019-12-12, the answer has a challenge.
    Off,
    /// Azurite's `--oauth basic`: claims are checked, signatures are not.
    Basic,
    /// Tokens of one issuer, signatures checked.
    Verified {
        /// The required `iss` claim.
        issuer: String,
        /// The accepted `aud` claims, at least one.
        audiences: Vec<String>,
        /// File with the issuer's public keys (JSON Web Key Set).
        jwks: PathBuf,
    },
}

/// Bounds of what clients can use. The protocol's own limits (entity size, filter depth, operations of a batch) are
/// fixed and defined with the protocol.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open client connections; for one more, the connection that has waited longest for its client is closed.
    pub connections_max: usize,
    /// Size of the request line and the headers together, in bytes.
    pub header_bytes_max: usize,
    /// Size of a request body, in bytes.
    pub body_bytes_max: usize,
    /// Memory for request bodies and answers of all connections, in bytes.
    pub memory_in_flight: u64,
    /// Time from the end of a request's headers to the start of the answer.
    pub request_timeout: Duration,
    /// Time for receiving the headers of a request, and for the TLS handshake.
    pub header_timeout: Duration,
    /// Maximum time within a request in which no byte is sent or received.
    pub stall_timeout: Duration,
    /// Minimum bytes per second of a body or an answer, on average.
    pub transfer_rate_min: u64,
    /// Maximum time that a connection may stay open between requests.
    pub idle_timeout: Duration,
    /// Maximum time that a shutdown waits for running requests.
    pub drain_timeout: Duration,
    /// Entity group transactions at a time; more of them wait.
    pub batches_max: usize,
}

/// Level and format of the log, and the debug file.
#[derive(Debug, Clone)]
pub struct Log {
    /// The least severe level that is logged; `Error` under `--silent`.
    pub level: tracing::Level,
    /// Text or JSON.
    pub format: LogFormat,
    /// The file to which every request is appended.
    pub debug_file: Option<PathBuf>,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object.
    Json,
}
