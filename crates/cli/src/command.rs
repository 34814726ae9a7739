//! What all commands share: how they run, and the shared flags of each kind of command.
//!
//! The file of a command defines its own flags and its run. It implements one of these traits, which provide the shared
//! parts:
//!
//! | trait | the command gets | shared flags |
//! | --- | --- | --- |
//! | [`Command`] | nothing | nothing |
//! | [`AccountCommand`] | the connection to an account, and its progress | [`ConnectionArgs`] |
//! | [`QueueAccountCommand`] | the connection to the queues of an account, and its progress | [`QueueConnectionArgs`] |
//! | [`AdminPortCommand`] | the admin port of a server, and its progress | [`AdminPortArgs`] |
//!
//! [`commands!`] declares the commands of a folder, and runs the command that the command line names.

pub(crate) use crate::args::connection::{Connection, QueueConnection};
pub(crate) use crate::error::{CommandError, CommandResult, Outcome};
pub(crate) use crate::progress::Progress;

use crate::args::{AdminPortArgs, ConnectionArgs, QueueConnectionArgs};
use crate::error::Because as _;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use futures::future::LocalBoxFuture;
use partita_tools::admin::AdminPort;

/// A command with the values of its flags.
pub(crate) trait Command {
    /// Runs the command to its end.
    fn run(self) -> CommandResult;
}

/// A command with many flags, in an enum whose other commands have few.
impl<C: Command> Command for Box<C> {
    fn run(self) -> CommandResult {
        (*self).run()
    }
}

/// A command on the tables of an account.
pub(crate) trait AccountCommand: Args {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult;
}

/// A command on the queues of an account.
pub(crate) trait QueueAccountCommand: Args {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult;
}

/// A command on a server's admin port.
pub(crate) trait AdminPortCommand: Args {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult;
}

/// A command with the flags of its connection.
pub(crate) type OnAccount<C> = With<C, ConnectionArgs>;

/// A command with the flags of its connection to queues.
pub(crate) type OnQueues<C> = With<C, QueueConnectionArgs>;

/// A command with the flag of the admin port.
pub(crate) type OnAdminPort<C> = With<C, AdminPortArgs>;

/// A command with its own flags, and flags that other commands have too.
pub(crate) struct With<C, F> {
    pub(crate) command: C,
    pub(crate) flags: F,
}

impl<C: AccountCommand> Command for OnAccount<C> {
    fn run(self) -> CommandResult {
        let connection = Connection::new(&self.flags)?;
        let progress = Progress::new(&connection.traffic);
        let profile = connection.profile.clone();
        let ended = block_on(self.command.run(connection, progress));
        ended.map_err(|error| error.on_profiles([profile]))
    }
}

impl<C: QueueAccountCommand> Command for OnQueues<C> {
    fn run(self) -> CommandResult {
        let connection = QueueConnection::new(&self.flags)?;
        let progress = Progress::new(&connection.traffic);
        let profile = connection.profile.clone();
        let ended = block_on(self.command.run(connection, progress));
        ended.map_err(|error| error.on_profiles([profile]))
    }
}

impl<C: AdminPortCommand> Command for OnAdminPort<C> {
    fn run(self) -> CommandResult {
        let (port, progress) = self.flags.open()?;
        block_on(self.command.run(port, progress))
    }
}

impl<C: Args, F: Args> Args for With<C, F> {
    fn augment_args(command: clap::Command) -> clap::Command {
        let command = C::augment_args(command);
        // The description of the shared flags must not replace the description of the command.
        let about = command.get_about().cloned().unwrap_or_default();
        let command = F::augment_args(command).about(about);
        command.next_help_heading(None::<&str>)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<C: Args, F: Args> FromArgMatches for With<C, F> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            command: C::from_arg_matches(matches)?,
            flags: F::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

// A command that also has subcommands. No doc comment, as it would become the description of the command.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct OrSubcommand<C: Args, S: Subcommand> {
    #[command(subcommand)]
    pub(crate) subcommand: Option<S>,
    #[command(flatten)]
    pub(crate) command: Option<C>,
}

impl<C: Args + Command, S: Subcommand + Command> Command for OrSubcommand<C, S> {
    fn run(self) -> CommandResult {
        match (self.subcommand, self.command) {
            (Some(subcommand), _) => subcommand.run(),
            (None, Some(command)) => command.run(),
            (None, None) => Err(CommandError::usage("the arguments are missing; see --help")),
        }
    }
}

/// Declares an enum of commands, and runs the command that was named. Each variant is a subcommand and holds a
/// [`Command`].
macro_rules! commands {
    ($visibility:vis enum $name:ident { $($(#[$attribute:meta])* $verb:ident($command:ty),)+ }) => {
        #[derive(clap::Subcommand)]
        $visibility enum $name {
            $($(#[$attribute])* $verb($command),)+
        }

        impl $crate::command::Command for $name {
            fn run(self) -> $crate::error::CommandResult {
                match self {
                    $(Self::$verb(command) => $crate::command::Command::run(command),)+
                }
            }
        }
    };
}
pub(crate) use commands;

/// Runs an asynchronous command on a new Tokio runtime.
pub(crate) fn block_on(command: impl Future<Output = CommandResult>) -> CommandResult {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .because("cannot start threads")?;
    // Boxed, so that Tokio's code of running a future is compiled once instead of once per command.
    let command: LocalBoxFuture<'_, CommandResult> = Box::pin(command);
    let ended = runtime.block_on(command);
    // Does not wait for threads: after a second Ctrl-C, one may still write, or wait for input. It ends with the
    // process.
    runtime.shutdown_background();
    ended
}
