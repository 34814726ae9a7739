//! `partita connect`: prints what a client needs on stdout, and on stderr whether it works.
//!
//! The check sends a signed request to the endpoint that is printed, with its scheme, account and key: exit code 0 promises that a
//! client with these lines gets an answer.

mod probe;

use crate::args::SettingsArgs;
use crate::error::{CommandError, Outcome};
use crate::output;
use crate::progress::message;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use partita_server::config::{Settings, Source, Values};
use partita_server::connect::{Endpoint, Tool, snippet};
use partita_wire::admin::{ServerState, Status};
use probe::TableAnswer;

#[derive(clap::Args)]
#[command(
    about = "Print what a client needs to connect, ready to paste",
    after_help = "Takes the settings that the server was started with, from the same places."
)]
pub(crate) struct ConnectCommand {
    /// Client to print it for
    #[arg(value_name = "tool", default_value = "string", value_parser = tools())]
    tool: Tool,
    /// Account, if there are several [default: the first]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn tools() -> impl TypedValueParser<Value = Tool> {
    PossibleValuesParser::new(Tool::ALL.map(|(name, _)| name)).map(|name| {
        let mut tools = Tool::ALL.into_iter();
        let (_, tool) = tools
            .find(|(known, _)| *known == name)
            .expect("only the names of tools are possible");
        tool
    })
}

impl ConnectCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        let (settings, values) = self.settings.resolve()?;
        let account = self.account.as_deref();
        let mut endpoint = Endpoint::of(&settings, account).ok_or_else(|| {
            let name = account.unwrap_or_default();
            CommandError::usage(format!("the settings have no account {name}"))
        })?;
        let status = probe::server_status(&settings).await;
        if let Some(port) = status.as_ref().and_then(table_port)
            && !is_port_chosen(&settings, &values)
        {
            endpoint.port = port;
        }
        output::print(&snippet(self.tool, &endpoint))?;
        let answer = probe::table_answer(&endpoint).await?;
        Ok(report(&answer, status.as_ref(), &endpoint))
    }
}

/// The port of a server's tables.
fn table_port(status: &Status) -> Option<u16> {
    let (_, port) = status.listening.table.rsplit_once(':')?;
    port.parse().ok()
}

/// Whether the settings choose the table port; else the port in use is the running server's.
fn is_port_chosen(settings: &Settings, values: &Values) -> bool {
    let mut values = values.iter();
    let port = values.find(|value| value.setting.key == "table.port");
    settings.table.port != 0 && port.is_some_and(|port| port.source != Source::Default)
}

/// Whether the status is that of the server at this endpoint.
fn describes(status: &Status, endpoint: &Endpoint) -> bool {
    let scheme = format!("{}://", endpoint.scheme);
    status.listening.table.starts_with(&scheme) && table_port(status) == Some(endpoint.port)
}

/// Reports whether the printed lines work: exit code 1 if they do not.
fn report(answer: &TableAnswer, status: Option<&Status>, endpoint: &Endpoint) -> Outcome {
    let (url, account) = (endpoint.url(), endpoint.account.name());
    let described = status.filter(|status| describes(status, endpoint));
    let hint = match status {
        Some(status) if described.is_none() => {
            format!(
                "; the running server's tables are at {}",
                status.listening.table
            )
        }
        _ => String::new(),
    };
    let (text, outcome) = match (answer, described) {
        (TableAnswer::Serves, Some(status)) => {
            let (version, state) = (&status.version, status.state.as_str());
            let text = format!("partita {version} answers at {url} ({state})");
            (text, Outcome::Done)
        }
        (TableAnswer::Serves, None) => {
            let text = format!("a table service answers at {url}; no admin port describes it");
            (text, Outcome::Done)
        }
        (_, Some(status)) if status.state == ServerState::Starting => {
            let text = format!("partita {} at {url} is starting", status.version);
            (text, Outcome::Done)
        }
        (TableAnswer::Refuses(_), Some(status))
            if !status.accounts.iter().any(|name| name == account) =>
        {
            let names = status.accounts.join(", ");
            let text = format!(
                "the server at {url} has other accounts: {names}; use the server's own settings"
            );
            (text, Outcome::NothingFound)
        }
        (TableAnswer::Refuses(why), _) => {
            let text = format!("the server at {url} refuses account {account} and its key: {why}");
            (text, Outcome::NothingFound)
        }
        (TableAnswer::NoTls(why), _) => {
            let text = format!("no TLS at {url}: {why}{hint}");
            (text, Outcome::NothingFound)
        }
        (TableAnswer::NotTables(why), _) => {
            let text = format!("no table service at {url}: {why}{hint}");
            (text, Outcome::NothingFound)
        }
        (TableAnswer::NoConnection, _) => {
            let port = endpoint.port;
            let text = format!(
                "nothing answers at {url}: start a server by `partita serve --table-port {port}`{hint}"
            );
            (text, Outcome::NothingFound)
        }
    };
    message(&text);
    outcome
}
