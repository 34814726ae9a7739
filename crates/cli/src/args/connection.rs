//! Where the tables and queues are, and the clients for them.
//!
//! | given | endpoint | credential |
//! | --- | --- | --- |
//! | `--connection-string` | from it | from it |
//! | `--endpoint` | the flag's | `--key` of `--account` (or of the account in the URL), or `--sas` |
//! | `--account` alone | `https://ACCOUNT.table.core.windows.net` or `.queue.`; this machine for the emulators' account | `--key` or `--sas` |
//! | nothing | `AZURE_STORAGE_CONNECTION_STRING`, else the server on this machine | from it, else the emulators' account |
//!
//! The emulators' account needs no `--key`: its key is public.
//!
//! Commands with two tables have the same flags with the prefix `--to-` for the second: [`super::DestinationArgs`].

use crate::error::{Because as _, CommandError};
use crate::units::seconds_within;
use clap::value_parser;
use partita_client::{
    ClientOptions, ConnectionString, Credential, Endpoint, Proxy, QueueServiceClient, RetryPolicy,
    ServiceKind, TableServiceClient, UnknownOutcome,
};
use partita_tools::source::Traffic;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LOCAL: &str = "UseDevelopmentStorage=true";
/// The admin port of a server on this machine with default settings.
pub(super) const LOCAL_ADMIN_PORT: &str = "http://127.0.0.1:10010";
const VARIABLE: &str = "AZURE_STORAGE_CONNECTION_STRING";
/// How long a command retries if it has never connected to a server.
const FIRST_CONNECTION: Duration = Duration::from_millis(1500);

/// Where the tables are, and how to reach them.
#[derive(clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArgs {
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
        place: ConnectionString,
        args: &ConnectionArgs,
        traffic: &Arc<Traffic>,
        tune: impl FnOnce(&mut ClientOptions),
    ) -> Result<Self, CommandError> {
        let mut options = args.client_options(traffic)?;
        let authorities_pem = options.authorities_pem.clone();
        tune(&mut options);
        Ok(Self {
            service: TableServiceClient::new(place.endpoint, place.credential, options)?,
            traffic: Arc::clone(traffic),
            authorities_pem,
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
}

impl QueueConnection {
    /// The connection that flags and environment describe. Does not connect yet.
    pub(crate) fn new(args: &QueueConnectionArgs) -> Result<Self, CommandError> {
        let (args, traffic) = (&args.account, Arc::default());
        let place = args.place(ServiceKind::Queue)?;
        let options = args.client_options(&traffic)?;
        let service = QueueServiceClient::new(place.endpoint, place.credential, options)?;
        Ok(Self { service, traffic })
    }
}

impl ConnectionArgs {
    /// Endpoint and credential of a service: from the flags, else from the variable, else on this machine.
    fn place(&self, service: ServiceKind) -> Result<ConnectionString, CommandError> {
        match self.place_flags(service).place(variable(VARIABLE))? {
            Some(place) => Ok(place),
            None => parse(LOCAL, service),
        }
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
        let place = match flags.place(variable(VARIABLE))? {
            Some(place) => place,
            None => parse(LOCAL, ServiceKind::Queue)?,
        };
        let options = self.client_options(traffic)?;
        Ok(QueueServiceClient::new(
            place.endpoint,
            place.credential,
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
            ..ClientOptions::default()
        })
    }

    fn place_flags(&self, service: ServiceKind) -> PlaceFlags<'_> {
        PlaceFlags {
            service,
            prefix: "",
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

/// The flags that say where a table or queue is.
pub(super) struct PlaceFlags<'a> {
    /// The service whose endpoint is needed.
    pub(super) service: ServiceKind,
    /// The prefix of the flags' names, for messages: empty for the first table, `to-` for the second.
    pub(super) prefix: &'static str,
    pub(super) string: Option<&'a str>,
    pub(super) endpoint: Option<&'a str>,
    pub(super) account: Option<&'a str>,
    pub(super) key: Option<&'a str>,
    pub(super) sas: Option<&'a str>,
}

impl PlaceFlags<'_> {
    /// Endpoint and credential; `None` if neither the flags nor the variable give them.
    pub(super) fn place(
        &self,
        variable: Option<String>,
    ) -> Result<Option<ConnectionString>, CommandError> {
        if let Some(string) = self.string {
            return parse(string, self.service).map(Some);
        }
        let flags = [self.endpoint, self.account, self.key, self.sas];
        if flags.iter().all(Option::is_none) {
            let parse = |text| parse(text, self.service);
            return variable.as_deref().map(parse).transpose();
        }
        let local = parse(LOCAL, self.service)?;
        let endpoint = self.endpoint(&local.endpoint)?;
        let account = self.account.unwrap_or(endpoint.account());
        let prefix = self.prefix;
        let credential = match (self.key, self.sas) {
            (Some(key), _) => Credential::shared_key(account, key)
                .map_err(|error| CommandError::usage(format!("--{prefix}key: {error}")))?,
            (None, Some(sas)) => Credential::sas(sas),
            (None, None) if account == local.endpoint.account() => local.credential,
            (None, None) => {
                return Err(CommandError::usage(format!(
                    "account {account} needs --{prefix}key or --{prefix}sas"
                )));
            }
        };
        Ok(Some(ConnectionString {
            secondary: endpoint.secondary(),
            endpoint,
            credential,
        }))
    }

    /// The endpoint that the flags name, by URL or by account.
    fn endpoint(&self, local: &Endpoint) -> Result<Endpoint, CommandError> {
        match (self.endpoint, self.account) {
            (Some(url), _) => {
                Endpoint::parse(url).map_err(|error| CommandError::usage(error.to_string()))
            }
            (None, Some(name)) if name == local.account() => Ok(local.clone()),
            (None, Some(name)) => {
                let label = self.service.label();
                let url = format!("https://{name}.{label}.core.windows.net");
                Endpoint::parse(&url).map_err(|_| {
                    CommandError::usage(format!("{name:?} is not a valid account name"))
                })
            }
            (None, None) => {
                let prefix = self.prefix;
                Err(CommandError::usage(format!(
                    "--{prefix}key and --{prefix}sas need --{prefix}account or --{prefix}endpoint"
                )))
            }
        }
    }
}

/// The value of an environment variable that is set and not blank.
pub(super) fn variable(name: &str) -> Option<String> {
    let text = std::env::var(name).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

fn parse(text: &str, service: ServiceKind) -> Result<ConnectionString, CommandError> {
    ConnectionString::parse_for(text, service)
        .map_err(|error| CommandError::usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::DestinationArgs;
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct TwoSides {
        #[command(flatten)]
        first: ConnectionArgs,
        #[command(flatten)]
        second: DestinationArgs,
    }

    fn of(flags: &[&str], variable: Option<&str>) -> Result<String, String> {
        let sides = TwoSides::try_parse_from(std::iter::once(&"test").chain(flags))
            .map_err(|error| error.to_string())?;
        let of = |flags: PlaceFlags<'_>, variable: Option<String>| {
            let place = flags.place(variable).map_err(|error| error.chain())?;
            let text =
                |place: ConnectionString| format!("{} {:?}", place.endpoint, place.credential);
            Ok::<_, String>(place.map(text))
        };
        let first = of(
            sides.first.place_flags(ServiceKind::Table),
            variable.map(str::to_owned),
        )?;
        Ok(match of(sides.second.place_flags(), None)? {
            Some(second) => format!("{} to {second}", first.as_deref().unwrap_or("-")),
            None => first.unwrap_or_else(|| "-".to_owned()),
        })
    }

    #[test]
    fn flags_override_the_variable_and_the_variable_the_default() {
        let variable = "TableEndpoint=http://v:1/acct;AccountKey=a2V5;AccountName=acct";
        let local = "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1)";
        assert_eq!(
            of(&[], None).unwrap(),
            "-",
            "without flags and variable, the caller uses its default"
        );
        assert_eq!(
            of(&[], Some(variable)).unwrap(),
            "http://v:1/acct SharedKey(acct)"
        );
        let string = ["--connection-string", "UseDevelopmentStorage=true"];
        assert_eq!(of(&string, Some(variable)).unwrap(), local);
        let account = ["--account", "other", "--key", "a2V5"];
        assert_eq!(
            of(&account, Some(variable)).unwrap(),
            "https://other.table.core.windows.net SharedKey(other)"
        );
    }

    #[test]
    fn queues_have_their_own_endpoint() {
        let place = |flags: &[&str], variable: Option<&str>| {
            let words = std::iter::once(&"test").chain(flags);
            let sides = TwoSides::try_parse_from(words).unwrap();
            let flags = sides.first.place_flags(ServiceKind::Queue);
            let place = flags.place(variable.map(str::to_owned)).unwrap().unwrap();
            place.endpoint.to_string()
        };
        assert_eq!(
            place(&["--account", "other", "--sas", "sv=1"], None),
            "https://other.queue.core.windows.net"
        );
        let local = "http://127.0.0.1:10001/devstoreaccount1";
        assert_eq!(place(&["--account", "devstoreaccount1"], None), local);
        let variable = "TableEndpoint=http://t/a;QueueEndpoint=http://q/a;AccountKey=a2V5";
        assert_eq!(place(&[], Some(variable)), "http://q/a");
    }

    #[test]
    fn the_second_table_has_its_own_flags() {
        let here = ["--account", "devstoreaccount1"];
        let there = ["--to-account", "other", "--to-sas", "sv=1"];
        let place = of(
            &[here, [there[0], there[1]], [there[2], there[3]]].concat(),
            None,
        );
        assert_eq!(
            place.unwrap(),
            "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1) to https://other.table.core.windows.net Sas(…)"
        );
        let refused = of(&["--to-account", "other"], None).unwrap_err();
        assert_eq!(refused, "account other needs --to-key or --to-sas");
        let refused = of(&["--to-key", "a2V5"], None).unwrap_err();
        assert_eq!(
            refused,
            "--to-key and --to-sas need --to-account or --to-endpoint"
        );
    }

    #[test]
    fn flags_complete_each_other() {
        for (flags, expected) in [
            (
                vec!["--endpoint", "http://h:1/devstoreaccount1"],
                "http://h:1/devstoreaccount1 SharedKey(devstoreaccount1)",
            ),
            (
                vec!["--account", "devstoreaccount1"],
                "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1)",
            ),
            (
                vec!["--endpoint", "https://h", "--account", "a", "--key", "a2V5"],
                "https://h SharedKey(a)",
            ),
            (
                vec!["--endpoint", "https://h", "--sas", "?sv=1"],
                "https://h Sas(…)",
            ),
        ] {
            assert_eq!(of(&flags, None).unwrap(), expected);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for (flags, expected) in [
            (vec!["--account", "a"], "account a needs --key or --sas"),
            (
                vec!["--key", "a2V5"],
                "--key and --sas need --account or --endpoint",
            ),
            (vec!["--account", "a", "--key", "!"], "--key: "),
            (vec!["--endpoint", "h:1"], "\"h:1\""),
            (
                vec!["--connection-string", "x"],
                "part 1 of the connection string",
            ),
            (
                vec!["--connection-string", "x", "--account", "a"],
                "cannot be used with",
            ),
        ] {
            let refused = of(&flags, None).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
