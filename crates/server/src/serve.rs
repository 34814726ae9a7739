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

use futures::future::BoxFuture;
use partita_cluster::heat_history::Archive;
use partita_cluster::{Balancer, Manager, ManagerError, ObjectMapStore};
use partita_engine::memory::MemoryEngineSet;
use partita_engine::slate::{self, SlateEngineSet};
use partita_engine::{EngineSet, OpenError};
use partita_range::RowMemory;
use partita_rt::object_store::ObjectStore;
use partita_rt::object_store::memory::InMemory;
use partita_rt::{Clock, DataDir, SystemClock, Tasks, data_dir};
use partita_table::{Service, ServiceSettings};
use tokio::net::TcpListener;

use partita_wire::{BearerRules, Hosts, Jwks};

use crate::config::{Limits, Oauth, Place, Settings, Store};
use crate::front::{Accounts, Front, FrontParts, InvalidAccount, Unsendable};
use crate::metrics::Metrics;
use crate::status::{Listening, ServerStatus};
use crate::{admin, open_files, tls};

/// How long background work and the admin port may take to end, once no request is under way.
const BACKGROUND_DRAIN: Duration = Duration::from_secs(5);

/// Added to what a request may take by its timeouts, before a dropped table's rows count as final.
const DROP_GRACE_SPARE: Duration = Duration::from_secs(20);

/// The folder of the store in which the history of heat is kept.
const HEAT_FOLDER: &str = "heat";

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
    /// The ranges of the data cannot be opened.
    #[error("cannot open the data in {}", path.display())]
    Ranges {
        /// The data directory.
        path: PathBuf,
        /// The partition manager's reason.
        source: ManagerError,
    },
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    status: Arc<ServerStatus>,
    authority: Option<PathBuf>,
    requests: Tasks,
    background: Tasks,
    manager: Arc<Manager>,
}

impl Server {
    /// Starts a server; it serves when this returns. To be called on the runtime on which it shall run. Not cancel safe:
    /// dropped halfway, what was started goes with the runtime.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start(mut settings: Settings) -> BoxFuture<'static, Result<Server, Error>> {
        Box::pin(async move {
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
            let status = Arc::new(ServerStatus::new(
                Arc::clone(&settings),
                Arc::clone(&metrics),
                listening,
                Arc::clone(&clock),
                requests.shutdown(),
            ));
            if let Some((listener, _)) = admin_listener {
                let serving = admin::serve(listener, Arc::clone(&status), background.clone());
                background.spawn("admin port", serving);
            }

            let loaded = tls::load(&settings, &*clock)?;
            let (manager, heat) = open_ranges(&settings.store, background.clone()).await?;
            let balancer = settings.store.balance.map(Balancer::new);
            manager.start_watching(Arc::clone(&clock), balancer, heat);
            let service = Service::new(
                Arc::clone(manager.map()),
                Arc::clone(&clock),
                service_settings(&settings.limits),
            );
            let service = Arc::new(service.with_targets(settings.targets.clone()));
            service.start(&background);
            status.opened(Arc::clone(&manager), Arc::clone(&service));
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
                status,
                authority,
                requests,
                background,
                manager,
            })
        })
    }

    /// Health and parts of the server.
    pub fn status(&self) -> &Arc<ServerStatus> {
        &self.status
    }

    /// Where it listens.
    pub fn listening(&self) -> Listening {
        self.status.listening
    }

    /// Under `--tls dev`, the certificate that clients have to trust.
    pub fn authority(&self) -> Option<&PathBuf> {
        self.authority.as_ref()
    }

    /// Closes the store under a running server.
    #[cfg(test)]
    pub(crate) async fn close_store(&self) {
        self.manager.databases().close().await;
    }

    /// Ends it: no new requests, those under way get the drain timeout, then the data closes. Returns the names of tasks
    /// that did not end in time; nothing acknowledged is lost even then.
    pub fn stop(self) -> BoxFuture<'static, Vec<&'static str>> {
        Box::pin(async move {
            let mut late = self
                .requests
                .drain(self.status.settings.limits.drain_timeout)
                .await;
            late.extend(self.background.drain(BACKGROUND_DRAIN).await);
            self.manager.databases().close().await;
            if !late.is_empty() {
                tracing::warn!(tasks = ?late, "tasks did not end in time");
            }
            late
        })
    }
}

fn service_settings(limits: &Limits) -> ServiceSettings {
    ServiceSettings {
        // Longer than any request takes, its body and its answer included.
        drop_grace: limits.request_timeout + 2 * limits.stall_timeout + DROP_GRACE_SPARE,
        transactions_max: limits.batches_max,
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

/// Opens the data: its databases, and the ranges that its partition map names. Says where their heat is kept: nowhere, where
/// nothing outlives the process.
async fn open_ranges(
    store: &Store,
    background: Tasks,
) -> Result<(Arc<Manager>, Option<Archive>), Error> {
    let memory = Arc::new(RowMemory::new(store.entity_cache_bytes));
    let (databases, objects, path): (Arc<dyn EngineSet>, _, _) = match &store.place {
        Place::Memory => {
            let objects = Arc::new(InMemory::new()) as Arc<dyn ObjectStore>;
            (Arc::new(MemoryEngineSet::new()), objects, PathBuf::new())
        }
        Place::Directory(path) => {
            let data = Arc::new(DataDir::open(path)?);
            let objects = data.store();
            let settings = slate::Settings {
                cache_bytes: store.block_cache_bytes,
                garbage_age: store.garbage_age,
                ..slate::Settings::default()
            };
            let opened = SlateEngineSet::new(data, settings).await;
            let databases = opened.map_err(|source| Error::Open {
                path: path.clone(),
                source,
            })?;
            (Arc::new(databases), objects, path.clone())
        }
    };
    let lasts = matches!(store.place, Place::Directory(_));
    let heat = lasts.then(|| Archive::new(Arc::clone(&objects), HEAT_FOLDER.into()));
    let map = Arc::new(ObjectMapStore::new(objects));
    let opened = Manager::open(databases, memory, map, background).await;
    let manager = opened.map_err(|source| Error::Ranges { path, source })?;
    Ok((manager, heat))
}
