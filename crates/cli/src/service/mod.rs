//! `partita service properties|cors`: the settings of an account's tables or queues: logging, metrics, and which web
//! pages may send requests.

mod cors;
mod properties;

use crate::args::{ConnectionArgs, choice};
use crate::command::{Command, Connection, QueueConnection, With};
use crate::prelude::*;
use partita_client::{
    QueueServiceClient, Result, ServiceKind, ServiceProperties, TableServiceClient,
};

commands! {
    pub(crate) enum ServiceCommand {
        /// Logging and metrics of a service
        #[command(subcommand)]
        Properties(properties::PropertiesCommand),
        /// Which web pages may send requests to a service, by their origin
        #[command(subcommand)]
        Cors(cors::CorsCommand),
    }
}

/// Which service of an account.
#[derive(clap::Args)]
pub(crate) struct ServiceArgs {
    /// Service
    #[arg(long, value_name = "SERVICE", default_value = "table", value_parser = choice([
        ("table", ServiceKind::Table), ("queue", ServiceKind::Queue),
    ]))]
    service: ServiceKind,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// A command with the flags of a service.
type OnService<C> = With<C, ServiceArgs>;

/// A command on the settings of a service.
trait RunOnService: clap::Args {
    async fn run(self, service: Service, progress: Progress) -> CommandResult;
}

impl<C: RunOnService> Command for OnService<C> {
    fn run(self) -> CommandResult {
        let connection = &self.flags.connection;
        let (service, traffic, profile) = match self.flags.service {
            ServiceKind::Queue => {
                let queues = QueueConnection::of_account(connection)?;
                (
                    Service::Queue(queues.service),
                    queues.traffic,
                    queues.profile,
                )
            }
            _ => {
                let tables = Connection::new(connection)?;
                (
                    Service::Table(tables.service),
                    tables.traffic,
                    tables.profile,
                )
            }
        };
        let progress = Progress::new(&traffic);
        let ended = block_on(self.command.run(service, progress));
        ended.map_err(|error| error.on_profiles([profile]))
    }
}

/// A client of a service.
enum Service {
    Table(TableServiceClient),
    Queue(QueueServiceClient),
}

impl Service {
    /// Its name, for messages.
    fn label(&self) -> &'static str {
        match self {
            Self::Table(_) => ServiceKind::Table.label(),
            Self::Queue(_) => ServiceKind::Queue.label(),
        }
    }

    async fn properties(&self) -> Result<ServiceProperties> {
        match self {
            Self::Table(tables) => tables.get_service_properties().await,
            Self::Queue(queues) => queues.get_service_properties().await,
        }
    }

    async fn set_properties(&self, properties: &ServiceProperties) -> Result<()> {
        match self {
            Self::Table(tables) => tables.set_service_properties(properties).await,
            Self::Queue(queues) => queues.set_service_properties(properties).await,
        }
    }
}
