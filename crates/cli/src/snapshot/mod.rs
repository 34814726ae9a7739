//! `partita snapshot create|list|show|delete|restore`: the whole store at one instant, kept by the server.

mod create;
mod delete;
mod list;
mod restore;
mod show;

use crate::args::AdminPortArgs;
use crate::error::{CommandError, Outcome};
use crate::output::OutputArgs;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum SnapshotCommand {
    Create(create::CreateCommand),
    List(list::ListCommand),
    Show(show::ShowCommand),
    Delete(delete::DeleteCommand),
    Restore(restore::RestoreCommand),
}

impl SnapshotCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Create(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Delete(command) => command.run().await,
            Self::Restore(command) => command.run().await,
        }
    }
}

/// A snapshot, and the server that has it.
#[derive(clap::Args)]
struct SnapshotArgs {
    /// Snapshot name
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: String,
    #[command(flatten)]
    admin: AdminPortArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Reads the name of a snapshot. It becomes part of a URL, so that other characters must not be sent; the server knows the exact rule.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_allowed) {
        return Ok(text.to_owned());
    }
    Err(
        "a snapshot's name is 1 to 63 of a-z, 0-9, '.', '-' and '_', the first a letter or digit"
            .to_owned(),
    )
}
