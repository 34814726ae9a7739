//! The life of a server: from settings to open ports, and back down without losing a request.
//!
//! ```text
//! start: bind both ports → admin answers "starting" → load certificates → open data → table port serves → ready
//! stop:  table port closes → requests under way end (or the drain timeout passes) → background work ends → data closes
//! ```
//!
//! Ports come first: a second server finds its port taken before it touches any data, and an operator can watch the data
//! being opened. Clients that connect early wait in the listen queue.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use partita_cluster::{Epoch, PartitionMap, Served};
use partita_engine::memory::MemoryDatabases;
use partita_engine::slate::{self, SlateDatabases};
use partita_engine::{Databases, Engine, OpenError};
use partita_range::{Range, RangeId, RowMemory};
use partita_rt::{Clock, DataDir, Shutdown, SystemClock, Tasks, data_dir};
use partita_table::{Service, ServiceSettings};
use tokio::net::TcpListener;

use partita_wire::{BearerRules, Hosts, Jwks};

use crate::config::{Limits, Oauth, Place, Settings, Store};
use crate::front::{Accounts, Front, FrontParts, InvalidAccount, Unsendable};
use crate::metrics::Metrics;
use crate::standing::{Listening, Open, Standing};
use crate::{admin, open_files, tls};

/// How long background work and the admin port may take to end, once no request is under way.
const BACKGROUND_DRAIN: Duration = Duration::from_secs(5);

/// Added to what a request may take by its timeouts, before a dropped table's rows count as final.
const DROP_GRACE_SPARE: Duration = Duration::from_secs(20);

/// Why a server does not start. Each needs a person.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error("cannot listen on {host}:{port}; --{flag} chooses another port")]
    Bind {
        /// As in the settings.
        host: String,
        /// As in the settings.
        port: u16,
        /// The flag that would change it.
        flag: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// HTTPS cannot be served.
    #[error("cannot serve HTTPS")]
    Tls(#[from] tls::Error),
    /// The data directory cannot be used.
    #[error("cannot use the data directory")]
    DataDir(#[from] data_dir::Error),
    /// An account of the settings cannot be served.
    #[error(transparent)]
    Account(#[from] InvalidAccount),
    /// The keys of the token issuer cannot be read.
    #[error("cannot read the issuer's keys in {}", path.display())]
    Jwks {
        /// The file of `--oauth-jwks`.
        path: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A setting goes into a header that cannot carry it.
    #[error(transparent)]
    Unsendable(#[from] Unsendable),
    /// The data cannot be opened.
    #[error("cannot open the data in {}", path.display())]
    Open {
        /// The data directory.
        path: PathBuf,
        /// The engine's reason.
        source: OpenError,
    },
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    standing: Arc<Standing>,
    authority: Option<PathBuf>,
    requests: Tasks,
    background: Tasks,
    databases: Handle,
}

/// The databases, for closing them at the end.
struct Handle(Arc<dyn Databases>);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Databases")
    }
}

impl Server {
    /// Starts a server; it serves when this returns. To be called on the runtime on which it shall run. Not cancel safe:
    /// dropped halfway, what was started goes with the runtime.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn start(mut settings: Settings) -> Result<Server, Error> {
        settings.limits.connections_max = open_files::room_for(settings.limits.connections_max);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (settings, metrics) = (Arc::new(settings), Arc::new(Metrics::new()));
        let (requests, background) = (Tasks::new(), Tasks::new());

        let (table_listener, table) =
            bind(&settings.table.host, settings.table.port, "table-port").await?;
        let admin_listener = match settings.admin.port {
            Some(port) => Some(bind(&settings.admin.host, port, "admin-port").await?),
            None => None,
        };
        let listening = Listening {
            table,
            admin: admin_listener.as_ref().map(|(_, address)| *address),
        };
        let standing = Arc::new(Standing::new(
            Arc::clone(&settings),
            Arc::clone(&metrics),
            listening,
            Arc::clone(&clock),
            requests.shutdown(),
        ));
        if let Some((listener, _)) = admin_listener {
            let serving = admin::serve(listener, Arc::clone(&standing), background.clone());
            background.spawn("admin port", serving);
        }

        let loaded = tls::load(&settings, &*clock)?;
        let databases = open_databases(&settings.store).await?;
        let engine = open_engine(&*databases, &settings.store).await?;
        let memory = Arc::new(RowMemory::new(settings.store.entity_cache_bytes));
        let map = one_range(engine, Arc::clone(&memory));
        for served in map.ranges() {
            let learning = learn_keys(Arc::clone(&served.range), background.shutdown());
            background.spawn("learn keys", learning);
        }
        let service = Arc::new(Service::new(
            map,
            Arc::clone(&clock),
            service_settings(&settings.limits),
        ));
        service.start(&background);
        standing.opened(Open {
            databases: Arc::clone(&databases),
            memory,
        });
        let (tls_config, authority) = loaded.map_or((None, None), |loaded| {
            (Some(loaded.config), loaded.authority)
        });
        let front = Front::new(FrontParts {
            service,
            accounts: Accounts::new(&settings.accounts)?,
            hosts: Hosts::new(
                settings.table.host_suffixes.iter().cloned(),
                settings.table.product_style_url,
            ),
            bearer: bearer_rules(&settings.oauth)?,
            authorization_uri: authorization_uri(&settings.oauth),
            limits: settings.limits.clone(),
            keep_alive: settings.table.keep_alive,
            tls: tls_config,
            metrics,
            clock,
        })?;
        requests.spawn("table port", front.listen(table_listener, requests.clone()));
        Ok(Server {
            standing,
            authority,
            requests,
            background,
            databases: Handle(databases),
        })
    }

    /// Where it listens and how it stands.
    pub fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    /// Where it listens.
    pub fn listening(&self) -> Listening {
        self.standing.listening
    }

    /// Under `--tls dev`, the certificate that clients have to trust.
    pub fn authority(&self) -> Option<&PathBuf> {
        self.authority.as_ref()
    }

    /// Closes the store under a running server.
    #[cfg(test)]
    pub(crate) async fn close_store(&self) {
        self.databases.0.close().await;
    }

    /// Ends it: no new requests, those under way get the drain timeout, then the data closes. Returns the names of tasks
    /// that did not end in time; nothing acknowledged is lost even then.
    pub async fn stop(self) -> Vec<&'static str> {
        let mut late = self
            .requests
            .drain(self.standing.settings.limits.drain_timeout)
            .await;
        late.extend(self.background.drain(BACKGROUND_DRAIN).await);
        self.databases.0.close().await;
        if !late.is_empty() {
            tracing::warn!(tasks = ?late, "tasks did not end in time");
        }
        late
    }
}

fn service_settings(limits: &Limits) -> ServiceSettings {
    ServiceSettings {
        // Longer than any request takes, its body and its answer included.
        drop_grace: limits.request_timeout + 2 * limits.stall_timeout + DROP_GRACE_SPARE,
        ..ServiceSettings::default()
    }
}

/// Which bearer tokens are taken. Blocking: reads a small file.
fn bearer_rules(oauth: &Oauth) -> Result<Option<BearerRules>, Error> {
    let (issuer, audiences, path) = match oauth {
        Oauth::Off => return Ok(None),
        Oauth::Basic => return Ok(Some(BearerRules::basic())),
        Oauth::Verified {
            issuer,
            audiences,
            jwks,
        } => (issuer, audiences, jwks),
    };
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Jwks {
        path: path.clone(),
        source,
    };
    let json = std::fs::read(path).map_err(|error| failed(error.into()))?;
    let keys = Jwks::parse(&json).map_err(|error| failed(error.into()))?;
    Ok(Some(BearerRules::verified(
        issuer.clone(),
        audiences.clone(),
        keys,
    )))
}

/// Where a client that is challenged gets a token: the issuer's, or what Azurite names.
fn authorization_uri(oauth: &Oauth) -> String {
    match oauth {
        Oauth::Verified { issuer, .. } => {
            format!("{}/oauth2/authorize", issuer.trim_end_matches('/'))
        }
        Oauth::Off | Oauth::Basic => {
            "https://login.microsoftonline.com/common/oauth2/authorize".to_owned()
        }
    }
}

async fn bind(
    host: &str,
    port: u16,
    flag: &'static str,
) -> Result<(TcpListener, SocketAddr), Error> {
    let bound = async {
        let listener = TcpListener::bind((host, port)).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|source| Error::Bind {
        host: host.to_owned(),
        port,
        flag,
        source,
    })
}

async fn open_databases(store: &Store) -> Result<Arc<dyn Databases>, Error> {
    let path = match &store.place {
        Place::Memory => return Ok(Arc::new(MemoryDatabases::new())),
        Place::Directory(path) => path.clone(),
    };
    let data = Arc::new(DataDir::open(&path)?);
    let settings = slate::Settings {
        cache_bytes: store.block_cache_bytes,
        ..slate::Settings::default()
    };
    let databases = SlateDatabases::new(data, settings).await;
    Ok(Arc::new(
        databases.map_err(|source| Error::Open { path, source })?,
    ))
}

async fn open_engine(databases: &dyn Databases, store: &Store) -> Result<Arc<dyn Engine>, Error> {
    let path = match &store.place {
        Place::Memory => PathBuf::new(),
        Place::Directory(path) => path.clone(),
    };
    let opened = databases.open(RangeId(1)).await;
    opened.map_err(|source| Error::Open { path, source })
}

/// A single process serves the whole key space as one range.
fn one_range(engine: Arc<dyn Engine>, memory: Arc<RowMemory>) -> Arc<PartitionMap> {
    let range = Arc::new(Range::new(RangeId(1), engine, memory));
    let served = Served {
        start: Bytes::new(),
        epoch: Epoch(1),
        range,
    };
    Arc::new(
        PartitionMap::new(vec![served])
            .expect("one range from the empty key on covers every key once"),
    )
}

/// Makes look-ups of absent keys cheap, some time after the start.
async fn learn_keys(range: Arc<Range>, shutdown: Shutdown) {
    let learned = tokio::select! {
        learned = range.learn_keys() => learned,
        () = shutdown.requested() => return,
    };
    match learned {
        Ok(()) => tracing::debug!(range = range.id().0, "all keys are known"),
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "the keys were not read; inserts look up absent keys");
        }
    }
}
