//! `partita connect`: prints connection settings for a client on stdout, and on stderr whether they work.
//!
//! The check sends a signed request to the printed endpoint, with its scheme, account and key. Exit code 0 means that a
//! client with these settings gets an answer, or that the server is starting.

mod probe;

use crate::args::{SettingsArgs, choice};
use crate::prelude::*;
use clap::builder::TypedValueParser;
use partita_server::config::{Source, Values};
use partita_server::connect::{Endpoint, Tool, snippet};
use partita_wire::admin::{ServerState, Status};
use probe::TableAnswer;

/// Print what a client needs to connect, ready to paste
#[derive(clap::Args)]
#[command(
    after_help = "Needs the same settings as the server: settings file, variables and flags."
)]
pub(crate) struct ConnectCommand {
    /// Client to print the settings for
    #[arg(value_name = "TOOL", default_value = "string", value_parser = tools())]
    tool: Tool,
    /// Account, if there are several [default: the first]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn tools() -> impl TypedValueParser<Value = Tool> {
    choice(Tool::ALL)
}

impl Command for ConnectCommand {
    fn run(self) -> CommandResult {
        block_on(async move {
            let (settings, values) = self.settings.resolve()?;
            let account = self.account.as_deref();
            let mut endpoint = Endpoint::of(&settings, account).ok_or_else(|| {
                let name = account.unwrap_or_default();
                CommandError::usage(format!("the settings have no account {name}"))
            })?;
            let status = probe::server_status(&settings).await;
            if let Some(port) = status.as_ref().and_then(table_port)
                && !is_chosen(&values, "table.port", settings.table.port)
            {
                endpoint.port = port;
            }
            if let Some(status) = &status
                && let Some((_, port)) = &mut endpoint.queue
                && !is_chosen(&values, "queue.port", *port)
            {
                match status.listening.queue.as_deref().and_then(port_of) {
                    Some(listening) => *port = listening,
                    None => endpoint.queue = None,
                }
            }
            output::print(&snippet(self.tool, &endpoint))?;
            let answer = probe::table_answer(&endpoint).await?;
            Ok(report(&answer, status.as_ref(), &endpoint))
        })
    }
}

/// The table port that a server's status names.
fn table_port(status: &Status) -> Option<u16> {
    port_of(status.listening.table.as_deref()?)
}

/// The port of a base URL.
fn port_of(url: &str) -> Option<u16> {
    let (_, port) = url.rsplit_once(':')?;
    port.parse().ok()
}

/// Whether the settings choose a port. Otherwise the port of the running server is used.
fn is_chosen(values: &Values, key: &str, port: u16) -> bool {
    let mut values = values.iter();
    let value = values.find(|value| value.setting.key == key);
    port != 0 && value.is_some_and(|value| value.source != Source::Default)
}

/// Whether the status describes the server at this endpoint.
fn describes(status: &Status, endpoint: &Endpoint) -> bool {
    let scheme = format!("{}://", endpoint.scheme);
    let url = status.listening.table.as_deref();
    url.is_some_and(|url| url.starts_with(&scheme)) && table_port(status) == Some(endpoint.port)
}

/// Reports whether the printed lines work: exit code 1 if they do not.
fn report(answer: &TableAnswer, status: Option<&Status>, endpoint: &Endpoint) -> Outcome {
    let (url, account) = (endpoint.url(), &endpoint.account.name);
    let described = status.filter(|status| describes(status, endpoint));
    let hint = match status {
        Some(status) if described.is_none() => match &status.listening.table {
            Some(url) => format!("; the running server's tables are at {url}"),
            None => "; the running server has no ports for clients".to_owned(),
        },
        _ => String::new(),
    };
    let (outcome, text) = match (answer, described) {
        (TableAnswer::Serves, Some(status)) => {
            let (version, state) = (&status.version, status.state.as_str());
            let text = format!("partita {version} answers at {url} ({state})");
            (Outcome::Done, text)
        }
        (TableAnswer::Serves, None) => (
            Outcome::Done,
            format!("a table service answers at {url}; no admin port reports its status"),
        ),
        (_, Some(status)) if status.state == ServerState::Starting => {
            let text = format!("partita {} at {url} is starting", status.version);
            (Outcome::Done, text)
        }
        (TableAnswer::Refuses(_), Some(status))
            if !status.accounts.iter().any(|name| name == account) =>
        {
            let names = status.accounts.join(", ");
            let text = format!(
                "the server at {url} has other accounts: {names}; use the server's own settings"
            );
            (Outcome::NothingFound, text)
        }
        (TableAnswer::Refuses(why), _) => (
            Outcome::NothingFound,
            format!("the server at {url} refuses account {account} and its key: {why}"),
        ),
        (TableAnswer::NoTls(why), _) => (
            Outcome::NothingFound,
            format!("the TLS handshake with {url} failed: {why}{hint}"),
        ),
        (TableAnswer::NotTables(why), _) => (
            Outcome::NothingFound,
            format!("no table service at {url}: {why}{hint}"),
        ),
        (TableAnswer::NoConnection, _) => {
            let port = endpoint.port;
            let text = format!(
                "no server answers at {url}: start one with `partita serve --table-port {port}`{hint}"
            );
            (Outcome::NothingFound, text)
        }
    };
    message(&text);
    outcome
}
