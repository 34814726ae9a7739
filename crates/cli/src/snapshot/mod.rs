//! `partita snapshot create|list|show|delete|restore`: the whole store at one instant, kept by the server.

use crate::prelude::*;
mod create;
mod delete;
mod list;
mod restore;
mod show;

commands! {
    pub(crate) enum SnapshotCommand {
        Create(OnAdminPort<create::CreateCommand>), List(OnAdminPort<list::ListCommand>),
        Show(OnAdminPort<show::ShowCommand>), Delete(OnAdminPort<delete::DeleteCommand>),
        Restore(OnAdminPort<restore::RestoreCommand>),
    }
}

/// A snapshot, and the format of the output.
#[derive(clap::Args)]
struct SnapshotArgs {
    /// Snapshot name
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: String,
    #[command(flatten)]
    output: OutputArgs,
}

/// Parses the name of a snapshot. The name becomes a part of a URL, so characters with a meaning in URLs are refused.
/// The server checks the exact rule.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_allowed) {
        return Ok(text.to_owned());
    }
    Err("use 1 to 63 of a-z, 0-9, '.', '-' and '_', and begin with a letter or a digit".to_owned())
}
