//! `partita admin drain|undrain|expel SERVER`: actions on a server of a cluster.

use super::Answer;
use crate::args::AdminPortArgs;
use crate::command::{Command, CommandResult, Outcome, With, block_on};
use crate::output::{OutputArgs, Shape};
use partita_tools::admin::Page;
use partita_wire::admin::ActionDone;

/// Make a server give its ranges away, and take no more
#[derive(clap::Args)]
pub(crate) struct DrainCommand {}

/// Let a server take ranges again
#[derive(clap::Args)]
pub(crate) struct UndrainCommand {}

/// End the membership of a server that does not answer, so that others take its ranges over
#[derive(clap::Args)]
pub(crate) struct ExpelCommand {}

/// An action on a server.
pub(crate) trait ServerAction: clap::Args {
    /// The name of the action in the admin API.
    const NAME: &str;
}

impl ServerAction for DrainCommand {
    const NAME: &str = "drain";
}

impl ServerAction for UndrainCommand {
    const NAME: &str = "undrain";
}

impl ServerAction for ExpelCommand {
    const NAME: &str = "expel";
}

/// A server, and the admin port of any server of its cluster.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    /// Name of the server, as `partita servers` shows it
    server: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    admin: AdminPortArgs,
}

/// An action with the flags that all actions on servers share.
pub(super) type OnServer<A> = With<A, ServerArgs>;

impl<A: ServerAction> Command for OnServer<A> {
    fn run(self) -> CommandResult {
        let ServerArgs {
            server,
            output,
            admin,
        } = self.flags;
        let (port, progress) = admin.open()?;
        block_on(async move {
            let Page { document, text } =
                port.server_action::<ActionDone>(&server, A::NAME).await?;
            output.write_document(&text, Shape::Single, |output| document.write(output))?;
            progress.finish(&format!("{} of {server} done", A::NAME), Outcome::Done)
        })
    }
}
