//! The flags that say where the tables and queues are, and the clients for them.
//!
//! | given | endpoint | credential |
//! | --- | --- | --- |
//! | `--connection-string` | from it | from it |
//! | `--endpoint` | the flag's | `--key` of `--account` (or of the account in the URL), or `--sas` |
//! | `--account` alone | `https://ACCOUNT.table.core.windows.net` or `.queue.`; this machine for the emulators' account | `--key` or `--sas` |
//! | `--profile` | of the profile | of the profile |
//! | nothing | as [`super::place`] says | as [`super::place`] says |
//!
//! The emulators' account needs no `--key`: its key is public.
//!
//! Commands with two tables have the same flags with the prefix `--to-` for the second: [`super::DestinationArgs`].

use super::place::{Environment, Place, PlaceFlags};
use crate::error::{Because as _, CommandError};
use crate::units::seconds_within;
use clap::value_parser;
use partita_client::{
    ClientOptions, Proxy, QueueServiceClient, RetryPolicy, ServiceKind, TableServiceClient,
    UnknownOutcome,
};
use partita_tools::source::Traffic;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The admin port of a server on this machine with default settings.
pub(super) const LOCAL_ADMIN_PORT: &str = "http://127.0.0.1:10010";
/// How long a command retries if it has never connected to a server.
const FIRST_CONNECTION: Duration = Duration::from_millis(1500);

/// Where the tables are, and how to reach them.
#[derive(clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArgs {
    /// Profile of the account, from `partita profile add` [env: PARTITA_PROFILE]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["connection_string", "endpoint", "account", "key", "sas"])]
    profile: Option<String>,
    /// Connection string [env: AZURE_STORAGE_CONNECTION_STRING] [default: Partita on this machine]
    #[arg(long, value_name = "STRING", conflicts_with_all = ["endpoint", "account", "key", "sas"])]
    connection_string: Option<String>,
    /// URL of the table endpoint, such as http://127.0.0.1:10002/devstoreaccount1
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Account name. Without --endpoint, the account is in Azure; devstoreaccount1 is on this machine
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Account key, Base64
    #[arg(long, value_name = "KEY", conflicts_with = "sas")]
    key: Option<String>,
    /// Shared access signature, instead of a key
    #[arg(long, value_name = "QUERY")]
    sas: Option<String>,
    /// Certificate authority to trust in addition to the machine's, PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// URL of the HTTP proxy for all hosts, or `none` to connect directly
    /// [env: https_proxy, http_proxy, all_proxy, no_proxy]
    #[arg(long, value_name = "URL", value_parser = |text: &str| text.parse::<Proxy>())]
    proxy: Option<Proxy>,
    /// Retries of a failed request, 0 to 20; 4 take about ten seconds
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(0..=20), default_value_t = 4)]
    pub(crate) retries: u32,
    /// Timeout of a request with all its retries, 1s to 1d [default: 35s for each attempt]
    #[arg(long, value_name = "TIME", value_parser = seconds_within(1..=86_400))]
    timeout: Option<u64>,
}

/// Where the queues are, and how to reach them: the same flags, with another endpoint.
#[derive(clap::Args)]
#[command(mut_arg("endpoint", |arg| arg.help("URL of the queue endpoint, such as http://127.0.0.1:10001/devstoreaccount1")))]
pub(crate) struct QueueConnectionArgs {
    #[command(flatten)]
    account: ConnectionArgs,
}

/// A client of an account, and the counts of its requests.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) service: TableServiceClient,
    pub(crate) traffic: Arc<Traffic>,
    /// The certificate authority of `--ca`, PEM; empty without the flag.
    pub(crate) authorities_pem: Vec<Vec<u8>>,
    /// The profile that names the account, for errors.
    pub(crate) profile: Option<String>,
}

impl Connection {
    /// The connection that flags and environment describe. Does not connect yet.
    pub(crate) fn new(args: &ConnectionArgs) -> Result<Self, CommandError> {
        Self::tuned(args, &Arc::default(), |_| {})
    }

    /// Like [`Self::new`], but `tune` may change the options that the flags set, and `traffic` counts the requests.
    pub(crate) fn tuned(
        args: &ConnectionArgs,
        traffic: &Arc<Traffic>,
        tune: impl FnOnce(&mut ClientOptions),
    ) -> Result<Self, CommandError> {
        let place = args.place(ServiceKind::Table)?;
        Self::open(place, args, traffic, tune)
    }

    /// A connection to the account at `place`. The flags set the options of the client, and `tune` may change them.
    pub(super) fn open(
        place: Place,
        args: &ConnectionArgs,
        traffic: &Arc<Traffic>,
        tune: impl FnOnce(&mut ClientOptions),
    ) -> Result<Self, CommandError> {
        let mut options = args.client_options(traffic)?;
        let authorities_pem = options.authorities_pem.clone();
        tune(&mut options);
        let Place { account, profile } = place;
        Ok(Self {
            service: TableServiceClient::new(account.endpoint, account.credential, options)?,
            traffic: Arc::clone(traffic),
            authorities_pem,
            profile,
        })
    }

    /// The default admin port of this machine, if the tables are at the default table port of this machine; else
    /// `None`, because the admin port of another server is unknown.
    pub(crate) fn local_admin_port(&self) -> Option<&'static str> {
        let endpoint = self.service.endpoint().to_string();
        let local = ["http://127.0.0.1:10002/", "http://localhost:10002/"];
        let is_local = local.iter().any(|url| endpoint.starts_with(url));
        is_local.then_some(LOCAL_ADMIN_PORT)
    }
}

/// A client of the queues of an account, and the counts of its requests.
pub(crate) struct QueueConnection {
    pub(crate) service: QueueServiceClient,
    pub(crate) traffic: Arc<Traffic>,
    /// The profile that names the account, for errors.
    pub(crate) profile: Option<String>,
}

impl QueueConnection {
    /// The connection that flags and environment describe. Does not connect yet.
    pub(crate) fn new(args: &QueueConnectionArgs) -> Result<Self, CommandError> {
        Self::of_account(&args.account)
    }

    /// Like [`Self::new`], for commands on either service.
    pub(crate) fn of_account(args: &ConnectionArgs) -> Result<Self, CommandError> {
        let traffic = Arc::default();
        let Place { account, profile } = args.place(ServiceKind::Queue)?;
        let options = args.client_options(&traffic)?;
        let service = QueueServiceClient::new(account.endpoint, account.credential, options)?;
        Ok(Self {
            service,
            traffic,
            profile,
        })
    }
}

impl QueueConnectionArgs {
    /// Endpoint and credential of the queues.
    pub(crate) fn place(&self) -> Result<Place, CommandError> {
        self.account.place(ServiceKind::Queue)
    }
}

impl ConnectionArgs {
    /// Endpoint and credential of a service, in the order of [`super::place`].
    pub(crate) fn place(&self, service: ServiceKind) -> Result<Place, CommandError> {
        match self.place_flags(service).place(&Environment::of_first())? {
            Some(place) => Ok(place),
            None => Place::local(service),
        }
    }

    /// Whether `--endpoint` is given, which is the URL of one service.
    pub(crate) fn has_endpoint(&self) -> bool {
        self.endpoint.is_some()
    }

    /// The client of the queues, for commands that use tables and queues. With `--endpoint`, which says where the tables
    /// are, another flag has the endpoint of the queues.
    pub(crate) fn queues(
        &self,
        endpoint: Option<&str>,
        traffic: &Arc<Traffic>,
    ) -> Result<QueueServiceClient, CommandError> {
        let mut flags = self.place_flags(ServiceKind::Queue);
        if flags.endpoint.is_some() && endpoint.is_none() {
            return Err(CommandError::usage("--endpoint needs --queue-endpoint"));
        }
        flags.endpoint = endpoint;
        let place = match flags.place(&Environment::of_first())? {
            Some(place) => place,
            None => Place::local(ServiceKind::Queue)?,
        };
        let (options, account) = (self.client_options(traffic)?, place.account);
        Ok(QueueServiceClient::new(
            account.endpoint,
            account.credential,
            options,
        )?)
    }

    /// The options of a client whose requests `traffic` counts.
    fn client_options(&self, traffic: &Arc<Traffic>) -> Result<ClientOptions, CommandError> {
        Ok(ClientOptions {
            application: format!("partita-tools/{}", env!("CARGO_PKG_VERSION")),
            observer: Some(Arc::<Traffic>::clone(traffic)),
            retry: self.retry_policy(),
            first_connection_timeout: Some(FIRST_CONNECTION),
            operation_timeout: self.timeout.map(Duration::from_secs),
            proxy: self.proxy.clone().unwrap_or_default(),
            authorities_pem: self.authorities_pem()?,
            // Rows of transfers do not depend on who wrote them; rows that do, such as leases, have a random value.
            unknown_outcome: UnknownOutcome::AssumeFromEqualContent,
            owner_hints: true,
            ..ClientOptions::default()
        })
    }

    pub(super) fn place_flags(&self, service: ServiceKind) -> PlaceFlags<'_> {
        PlaceFlags {
            service,
            prefix: "",
            profile: self.profile.as_deref(),
            string: self.connection_string.as_deref(),
            endpoint: self.endpoint.as_deref(),
            account: self.account.as_deref(),
            key: self.key.as_deref(),
            sas: self.sas.as_deref(),
        }
    }

    fn authorities_pem(&self) -> Result<Vec<Vec<u8>>, CommandError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).because(format!("cannot read --ca {}", path.display()))
        };
        self.ca.as_ref().map(read).into_iter().collect()
    }

    /// The client's default waits between retries, with the number of retries that the flag gives.
    fn retry_policy(&self) -> RetryPolicy {
        let mut policy = RetryPolicy::MODERN;
        if let RetryPolicy::Exponential { retries, .. } = &mut policy {
            *retries = self.retries;
        }
        policy
    }
}
