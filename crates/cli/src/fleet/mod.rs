//! `partita fleet run|work|status|stop|resume`: work on the rows of a table by many worker processes.
//!
//! All processes use the job table and the job's queue of the first account. See docs/fleets.md.

mod resume;
mod run;
mod status;
mod stop;
mod work;

use crate::args::connection::Connection;
use crate::args::{ConnectionArgs, DestinationArgs};
use crate::command::{Command, With, block_on};
use crate::prelude::*;
use partita_client::QueueServiceClient;
use partita_tools::fleet::{Access, FLEET_TABLE, FleetTable, Job, ServiceQueue};
use std::path::PathBuf;

commands! {
    pub(crate) enum FleetCommand {
        /// Start a job
        #[command(subcommand)]
        Run(Box<run::RunCommand>),
        Work(OnFleet<work::WorkCommand>),
        Status(OnFleet<status::StatusCommand>),
        Stop(OnFleet<stop::StopCommand>),
        Resume(OnFleet<resume::ResumeCommand>),
    }
}

/// Where the jobs are, and where the second table of a job is.
#[derive(clap::Args)]
pub(crate) struct FleetArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
    /// URL of the queue endpoint, such as http://127.0.0.1:10001/devstoreaccount1
    #[arg(
        long,
        value_name = "URL",
        requires = "endpoint",
        help_heading = "Connection"
    )]
    queue_endpoint: Option<String>,
    /// Table of the jobs
    #[arg(long, value_name = "TABLE", default_value = FLEET_TABLE, help_heading = "Connection")]
    fleet_table: String,
    #[command(flatten)]
    to: DestinationArgs,
}

/// A command with the flags of a fleet.
pub(crate) type OnFleet<C> = With<C, FleetArgs>;

/// The connections of a fleet.
pub(crate) struct Fleet {
    table: FleetTable,
    first: Connection,
    /// The connection of the second table: the first one, unless flags say otherwise.
    second: Connection,
    queues: QueueServiceClient,
}

/// A command on the jobs of an account.
pub(crate) trait RunOnFleet: clap::Args {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult;
}

impl<C: RunOnFleet> Command for OnFleet<C> {
    fn run(self) -> CommandResult {
        let args = &self.flags;
        let first = Connection::new(&args.connection)?;
        let endpoint = args.queue_endpoint.as_deref();
        let fleet = Fleet {
            table: FleetTable(first.service.table_client(&args.fleet_table)),
            second: args.to.open(&args.connection, &first)?,
            queues: args.connection.queues(endpoint, &first.traffic)?,
            first,
        };
        let progress = Progress::new(&fleet.first.traffic);
        let profiles = [&fleet.first, &fleet.second].map(|it| it.profile.clone());
        let ended = block_on(self.command.run(fleet, progress));
        ended.map_err(|error| error.on_profiles(profiles))
    }
}

impl Fleet {
    /// What a worker may use.
    fn access(&self, directory: Option<PathBuf>, commands: bool) -> Access {
        let endpoints = [&self.first, &self.second].map(|it| it.service.endpoint().to_string());
        let is_other = endpoints[0] != endpoints[1];
        Access {
            source: self.first.service.clone(),
            destination: is_other.then(|| self.second.service.clone()),
            queues: Some(self.queues.clone()),
            directory,
            commands,
        }
    }

    /// The queue of a job.
    fn queue(&self, job: &Job) -> ServiceQueue {
        ServiceQueue(self.queues.queue_client(&job.queue_name()))
    }
}
