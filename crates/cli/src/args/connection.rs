//! Flags that say where the tables are, and the client they make.
//!
//! | given | endpoint | credential |
//! | --- | --- | --- |
//! | `--connection-string` | as it says | as it says |
//! | `--endpoint` | that | `--key` of `--account` (or of the account that the URL names), or `--sas` |
//! | `--account` alone | `https://ACCOUNT.table.core.windows.net` | `--key` or `--sas` |
//! | nothing | `AZURE_STORAGE_CONNECTION_STRING`, else the server on this machine | as it says, else the emulators' account |
//!
//! The emulators' account needs no key: everybody knows it.
//!
//! Verbs that have two sides take the same flags with `--to-` before them for the second one, whose variable is
//! `AZURE_STORAGE_CONNECTION_STRING_TO`. Where nothing says where the second side is, it is in the account of the first.

use crate::error::Failure;
use clap::{Arg, ArgMatches, Command};
use partita_client::{
    ClientOptions, ConnectionString, Credential, Endpoint, Proxy, RetryPolicy, TableServiceClient,
};
use partita_tools::source::Traffic;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LOCAL: &str = "UseDevelopmentStorage=true";
/// For how long a server that never answered is looked for.
const FIRST_CONNECTION: Duration = Duration::from_millis(1500);

/// The names under which a side of a verb is said.
struct Names {
    heading: &'static str,
    variable: &'static str,
    string: &'static str,
    endpoint: &'static str,
    account: &'static str,
    key: &'static str,
    sas: &'static str,
}

const FIRST: Names = Names {
    heading: "Connection",
    variable: "AZURE_STORAGE_CONNECTION_STRING",
    string: "connection-string",
    endpoint: "endpoint",
    account: "account",
    key: "key",
    sas: "sas",
};

const SECOND: Names = Names {
    heading: "Connection of the second table, if it is in another account",
    variable: "AZURE_STORAGE_CONNECTION_STRING_TO",
    string: "to-connection-string",
    endpoint: "to-endpoint",
    account: "to-account",
    key: "to-key",
    sas: "to-sas",
};

/// An account and what is sent to it.
pub(crate) struct Connection {
    pub(crate) service: TableServiceClient,
    pub(crate) traffic: Arc<Traffic>,
    /// The admin port, where one is given.
    admin: Option<String>,
}

/// Adds the flags.
pub(crate) fn add(command: Command) -> Command {
    let string = "Connection string [variable: AZURE_STORAGE_CONNECTION_STRING] [default: Partita on this machine]";
    let limit = |name, value, help, range: std::ops::RangeInclusive<i64>| {
        flag(FIRST.heading, name, value, help).value_parser(clap::value_parser!(u32).range(range))
    };
    places(command, &FIRST, string)
        .arg(
            flag(
                FIRST.heading,
                "ca",
                "FILE",
                "Authority to trust besides the machine's, PEM",
            )
            .value_parser(clap::value_parser!(PathBuf)),
        )
        .arg(
            flag(
                FIRST.heading,
                "proxy",
                "URL",
                "HTTP proxy, also for this machine's tables, or none [variables: https_proxy, http_proxy, all_proxy, no_proxy]",
            )
            .value_parser(|text: &str| text.parse::<Proxy>()),
        )
        .arg(
            limit("retries", "N", "How often a request that failed is tried again, 0 to 20: four times take ten seconds", 0..=20)
                .default_value("4"),
        )
        .arg(limit(
            "timeout",
            "SECONDS",
            "How long a request may take with all its tries, 1 to 86,400 [default: 35 for each try]",
            1..=86_400,
        ))
}

/// Adds the flags of a verb's second side.
pub(crate) fn add_second(command: Command) -> Command {
    let string = "Connection string [variable: AZURE_STORAGE_CONNECTION_STRING_TO] [default: the same account]";
    places(command, &SECOND, string)
}

fn places(command: Command, names: &Names, string: &'static str) -> Command {
    let arg = |name, value, help| flag(names.heading, name, value, help);
    command
        .arg(arg(names.string, "STRING", string).conflicts_with_all([
            names.endpoint,
            names.account,
            names.key,
            names.sas,
        ]))
        .arg(arg(
            names.endpoint,
            "URL",
            "Where the tables are, such as http://127.0.0.1:10002/devstoreaccount1",
        ))
        .arg(arg(
            names.account,
            "NAME",
            "Account; without an endpoint, one of Azure's",
        ))
        .arg(arg(names.key, "KEY", "Its key, Base64").conflicts_with(names.sas))
        .arg(arg(
            names.sas,
            "QUERY",
            "Shared access signature, in place of a key",
        ))
}

fn flag(heading: &'static str, name: &'static str, value: &'static str, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).value_name(value);
    arg.help(help).help_heading(heading)
}

/// The flag for the server's admin port, for verbs that can use its split points.
pub(crate) fn admin_argument() -> Arg {
    flag(
        FIRST.heading,
        "admin",
        "URL",
        "Partita's admin port [default: http://127.0.0.1:10010 for tables on port 10002 of this machine]",
    )
}

impl Connection {
    /// What the flags and the environment say. No connection is made yet.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        Self::tuned(matches, &Arc::default(), |_| {})
    }

    /// The same with options that the flags do not have, counted here.
    pub(crate) fn tuned(
        matches: &ArgMatches,
        traffic: &Arc<Traffic>,
        tune: impl FnOnce(&mut ClientOptions),
    ) -> Result<Self, Failure> {
        let admin = matches.try_get_one::<String>("admin").ok().flatten();
        let place = match place(matches, &FIRST, variable(&FIRST))? {
            Some(place) => place,
            None => parse(LOCAL)?,
        };
        Self::to(place, matches, Arc::clone(traffic), admin.cloned(), tune)
    }

    /// The second side, whose traffic is counted with the first one's.
    pub(crate) fn second(&self, matches: &ArgMatches) -> Result<Self, Failure> {
        match place(matches, &SECOND, variable(&SECOND))? {
            Some(place) => Self::to(place, matches, Arc::clone(&self.traffic), None, |_| {}),
            None => Ok(Self {
                service: self.service.clone(),
                traffic: Arc::clone(&self.traffic),
                admin: self.admin.clone(),
            }),
        }
    }

    fn to(
        place: ConnectionString,
        matches: &ArgMatches,
        traffic: Arc<Traffic>,
        admin: Option<String>,
        tune: impl FnOnce(&mut ClientOptions),
    ) -> Result<Self, Failure> {
        let ConnectionString {
            endpoint,
            credential,
            ..
        } = place;
        let seconds = matches.get_one::<u32>("timeout");
        let mut options = ClientOptions {
            application: format!("partita-tools/{}", env!("CARGO_PKG_VERSION")),
            observer: Some(Arc::<Traffic>::clone(&traffic)),
            retry: policy(matches),
            first_connection_timeout: Some(FIRST_CONNECTION),
            operation_timeout: seconds.map(|&seconds| Duration::from_secs(seconds.into())),
            ..ClientOptions::default()
        };
        if let Some(proxy) = matches.get_one::<Proxy>("proxy") {
            options.proxy = proxy.clone();
        }
        if let Some(path) = matches.get_one::<PathBuf>("ca") {
            options.authorities_pem = vec![std::fs::read(path).map_err(Failure::Input)?];
        }
        tune(&mut options);
        Ok(Self {
            service: TableServiceClient::new(endpoint, credential, options)?,
            traffic,
            admin,
        })
    }

    /// The admin port to ask for split points, and whether it was asked for by name.
    pub(crate) fn admin(&self) -> Option<(String, bool)> {
        if let Some(url) = &self.admin {
            return Some((url.clone(), true));
        }
        // A server on another port has its admin port elsewhere too.
        let endpoint = self.service.endpoint().to_string();
        let here = ["http://127.0.0.1:10002/", "http://localhost:10002/"];
        let here = here.iter().any(|url| endpoint.starts_with(url));
        here.then(|| (crate::args::admin_port::LOCAL.to_owned(), false))
    }
}

/// The usual waits, as often as the user wants.
fn policy(matches: &ArgMatches) -> RetryPolicy {
    let mut policy = RetryPolicy::MODERN;
    if let (RetryPolicy::Exponential { retries, .. }, Some(&wanted)) =
        (&mut policy, matches.get_one::<u32>("retries"))
    {
        *retries = wanted;
    }
    policy
}

fn variable(names: &Names) -> Option<String> {
    let text = std::env::var(names.variable).ok();
    text.filter(|text| !text.trim().is_empty())
}

fn parse(text: &str) -> Result<ConnectionString, Failure> {
    ConnectionString::parse(text).map_err(|error| Failure::usage(error.to_string()))
}

/// Where a side is; none where nothing says it.
fn place(
    matches: &ArgMatches,
    names: &Names,
    variable: Option<String>,
) -> Result<Option<ConnectionString>, Failure> {
    let text = |name| matches.get_one::<String>(name).map(String::as_str);
    let [endpoint, account, key, sas] =
        [names.endpoint, names.account, names.key, names.sas].map(text);
    if let Some(string) = text(names.string) {
        return parse(string).map(Some);
    }
    if [endpoint, account, key, sas].iter().all(Option::is_none) {
        return variable.as_deref().map(parse).transpose();
    }
    let local = parse(LOCAL)?;
    let is_local = account.is_some_and(|name| name == local.endpoint.account());
    let endpoint = match (endpoint, account) {
        (Some(url), _) => {
            Endpoint::parse(url).map_err(|error| Failure::usage(error.to_string()))?
        }
        (None, Some(_)) if is_local => local.endpoint.clone(),
        (None, Some(name)) => Endpoint::parse(&format!("https://{name}.table.core.windows.net"))
            .map_err(|_| Failure::usage(format!("{name:?} is no account")))?,
        (None, None) => {
            let Names {
                key,
                sas,
                account,
                endpoint,
                ..
            } = names;
            return Err(Failure::usage(format!(
                "--{key} and --{sas} need --{account} or --{endpoint}"
            )));
        }
    };
    let account = account.unwrap_or(endpoint.account());
    let credential = match (key, sas) {
        (Some(key), _) => Credential::shared_key(account, key)
            .map_err(|error| Failure::usage(format!("--{}: {error}", names.key)))?,
        (None, Some(sas)) => Credential::sas(sas),
        (None, None) if account == local.endpoint.account() => local.credential,
        (None, None) => {
            return Err(Failure::usage(format!(
                "account {account} needs --{} or --{}",
                names.key, names.sas
            )));
        }
    };
    Ok(Some(ConnectionString {
        secondary: endpoint.secondary(),
        endpoint,
        credential,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flags: &[&str], variable: Option<&str>) -> Result<String, String> {
        let command = add_second(add(Command::new("test")));
        let matches = command
            .try_get_matches_from(std::iter::once(&"test").chain(flags))
            .map_err(|error| error.to_string())?;
        let of = |names, variable: Option<String>| {
            let place = place(&matches, names, variable).map_err(|error| error.chain())?;
            let text =
                |place: ConnectionString| format!("{} {:?}", place.endpoint, place.credential);
            Ok::<_, String>(place.map(text))
        };
        let first = of(&FIRST, variable.map(str::to_owned))?;
        Ok(match of(&SECOND, None)? {
            Some(second) => format!("{} to {second}", first.as_deref().unwrap_or("-")),
            None => first.unwrap_or_else(|| "-".to_owned()),
        })
    }

    #[test]
    fn flags_come_before_the_variable_and_that_before_the_default() {
        let variable = "TableEndpoint=http://v:1/acct;AccountKey=a2V5;AccountName=acct";
        let local = "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1)";
        assert_eq!(of(&[], None).unwrap(), "-", "the caller has a default");
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
    fn the_second_side_has_flags_of_its_own() {
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
    fn parts_complete_each_other() {
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
    fn what_does_not_go_together_is_said() {
        for (flags, expected) in [
            (vec!["--account", "a"], "account a needs --key or --sas"),
            (
                vec!["--key", "a2V5"],
                "--key and --sas need --account or --endpoint",
            ),
            (vec!["--account", "a", "--key", "!"], "--key: "),
            (vec!["--endpoint", "h:1"], "\"h:1\" is no endpoint"),
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
