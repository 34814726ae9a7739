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

use super::failure::Failure;
use crate::source::Traffic;
use clap::{Arg, ArgMatches, Command};
use partita_client::{
    ClientOptions, ConnectionString, Credential, Endpoint, RetryPolicy, TableServiceClient,
};
use std::path::PathBuf;
use std::sync::Arc;

const HEADING: &str = "Connection";
const VARIABLE: &str = "AZURE_STORAGE_CONNECTION_STRING";
const LOCAL: &str = "UseDevelopmentStorage=true";
/// Where the admin port of the server on this machine is unless told otherwise.
const LOCAL_ADMIN: &str = "http://127.0.0.1:10010";

/// An account and what is sent to it.
pub(super) struct Connection {
    pub(super) service: TableServiceClient,
    pub(super) traffic: Arc<Traffic>,
    /// The admin port, where one is given.
    admin: Option<String>,
}

/// Adds the flags.
pub(super) fn add(command: Command) -> Command {
    let arg = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading(HEADING)
    };
    let string = "Connection string [variable: AZURE_STORAGE_CONNECTION_STRING] [default: Partita on this machine]";
    command
        .arg(
            arg("connection-string", "STRING", string)
                .conflicts_with_all(["endpoint", "account", "key", "sas"]),
        )
        .arg(arg(
            "endpoint",
            "URL",
            "Where the tables are, such as http://127.0.0.1:10002/devstoreaccount1",
        ))
        .arg(arg(
            "account",
            "NAME",
            "Account; without --endpoint, one of Azure's",
        ))
        .arg(arg("key", "KEY", "Its key, Base64").conflicts_with("sas"))
        .arg(arg(
            "sas",
            "QUERY",
            "Shared access signature, in place of a key",
        ))
        .arg(
            arg(
                "ca",
                "FILE",
                "Authority to trust besides the machine's, PEM",
            )
            .value_parser(clap::value_parser!(PathBuf)),
        )
        .arg(
            arg("retries", "N", "How often a request that failed is tried again, 0 to 20: four times take ten seconds")
                .value_parser(clap::value_parser!(u32).range(0..=20))
                .default_value("4"),
        )
}

/// The flag for the server's admin port, for verbs that can use its split points.
pub(super) fn admin_argument() -> Arg {
    Arg::new("admin")
        .long("admin")
        .value_name("URL")
        .help("Partita's admin port [default: http://127.0.0.1:10010 for tables on port 10002 of this machine]")
        .help_heading(HEADING)
}

impl Connection {
    /// What the flags and the environment say. No connection is made yet.
    pub(super) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let variable = std::env::var(VARIABLE).ok();
        let ConnectionString {
            endpoint,
            credential,
            ..
        } = place(matches, variable.filter(|text| !text.trim().is_empty()))?;
        let traffic = Arc::new(Traffic::default());
        let mut options = ClientOptions {
            application: format!("partita-tools/{}", env!("CARGO_PKG_VERSION")),
            observer: Some(Arc::<Traffic>::clone(&traffic)),
            retry: policy(matches),
            ..ClientOptions::default()
        };
        if let Some(path) = matches.get_one::<PathBuf>("ca") {
            options.authorities_pem = vec![std::fs::read(path).map_err(Failure::Input)?];
        }
        let admin = matches.try_get_one::<String>("admin").ok().flatten();
        Ok(Self {
            service: TableServiceClient::new(endpoint, credential, options)?,
            traffic,
            admin: admin.cloned(),
        })
    }

    /// The admin port to ask for split points, and whether it was asked for by name.
    pub(super) fn admin(&self) -> Option<(String, bool)> {
        if let Some(url) = &self.admin {
            return Some((url.clone(), true));
        }
        // A server on another port has its admin port elsewhere too.
        let endpoint = self.service.endpoint().to_string();
        let here = ["http://127.0.0.1:10002/", "http://localhost:10002/"];
        let here = here.iter().any(|url| endpoint.starts_with(url));
        here.then(|| (LOCAL_ADMIN.to_owned(), false))
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

fn place(matches: &ArgMatches, variable: Option<String>) -> Result<ConnectionString, Failure> {
    let text = |name| matches.get_one::<String>(name).map(String::as_str);
    let parse = |text: &str| {
        ConnectionString::parse(text).map_err(|error| Failure::usage(error.to_string()))
    };
    let (endpoint, account, key, sas) =
        (text("endpoint"), text("account"), text("key"), text("sas"));
    if let Some(string) = text("connection-string") {
        return parse(string);
    }
    if [endpoint, account, key, sas].iter().all(Option::is_none) {
        return parse(variable.as_deref().unwrap_or(LOCAL));
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
            return Err(Failure::usage(
                "--key and --sas need --account or --endpoint",
            ));
        }
    };
    let account = account.unwrap_or(endpoint.account());
    let credential = match (key, sas) {
        (Some(key), _) => Credential::shared_key(account, key)
            .map_err(|error| Failure::usage(format!("--key: {error}")))?,
        (None, Some(sas)) => Credential::sas(sas),
        (None, None) if account == local.endpoint.account() => local.credential,
        (None, None) => {
            return Err(Failure::usage(format!(
                "account {account} needs --key or --sas"
            )));
        }
    };
    Ok(ConnectionString {
        secondary: endpoint.secondary(),
        endpoint,
        credential,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flags: &[&str], variable: Option<&str>) -> Result<String, String> {
        let command = add(Command::new("test"));
        let matches = command
            .try_get_matches_from(std::iter::once(&"test").chain(flags))
            .map_err(|error| error.to_string())?;
        let place = place(&matches, variable.map(str::to_owned)).map_err(|error| error.chain())?;
        Ok(format!("{} {:?}", place.endpoint, place.credential))
    }

    #[test]
    fn flags_come_before_the_variable_and_that_before_the_default() {
        let variable = "TableEndpoint=http://v:1/acct;AccountKey=a2V5;AccountName=acct";
        let local = "http://127.0.0.1:10002/devstoreaccount1 SharedKey(devstoreaccount1)";
        assert_eq!(of(&[], None).unwrap(), local);
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
