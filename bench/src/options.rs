//! The options of a comparison: servers, workloads, lengths.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;

use crate::cluster::ClusterOptions;
use crate::fleet::FleetOptions;
use crate::{WorkloadKind, entity, project};

/// A server of the comparison, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetKind {
    /// This project's server, durable
    Partita,
    /// This project's server, with the same data in 16 ranges
    Split,
    /// Another build of this project's server, durable
    Before,
    /// A hyper server that reads each request and answers prepared bytes: the ceiling of this machine
    Bare,
    /// The bare server with this project's parser and writer of payloads, without a store: the ceiling for pages
    Payload,
    /// As `payload`, with a log that is written and synced for each group of requests: the ceiling for batches
    PayloadLog,
    /// The emulator: not durable, writes its whole state every few seconds
    Azurite,
}

impl TargetKind {
    /// The name on the command line, in the table and in JSON.
    pub(crate) fn name(self) -> String {
        crate::value_name(self)
    }

    /// The server whose rate for a workload is the ceiling: it does the same without a store. `None` if none of them
    /// answers alike.
    pub(crate) fn ceiling_of(kind: WorkloadKind) -> Option<Self> {
        match kind {
            WorkloadKind::AbsentGet | WorkloadKind::WholeScan => None,
            _ if kind.entities() == 1 => Some(Self::Bare),
            _ if kind.writes() => Some(Self::PayloadLog),
            _ => Some(Self::Payload),
        }
    }

    /// Whether it is a build of this project's server.
    pub(crate) fn is_partita(self) -> bool {
        matches!(self, Self::Partita | Self::Split | Self::Before)
    }

    /// Whether it keeps what it is given.
    pub(crate) fn stores(self) -> bool {
        self.is_partita() || self == Self::Azurite
    }

    /// Whether its rate for a workload says something about others.
    pub(crate) fn is_measured(self, kind: WorkloadKind) -> bool {
        match self {
            Self::Payload => kind.entities() > 1,
            Self::PayloadLog => kind.entities() > 1 && kind.writes(),
            _ => true,
        }
    }
}

/// The options of a comparison.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Workloads; all by default
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES",
        default_values_t = WorkloadKind::value_variants().to_vec(), hide_default_value = true)]
    pub(crate) workloads: Vec<WorkloadKind>,
    /// Servers; by default partita, bare, payload, payload-log, azurite, and before with --before
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    targets: Vec<TargetKind>,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1, 16, 64])]
    connections: Vec<usize>,
    /// Length of each measurement, seconds
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Measurements of each kind; the median is reported
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Compare with a data set of this many rows, 3,500,000 by default, instead of the workloads above: one server
    /// after the other, restarted before it is measured
    #[arg(long, value_name = "ROWS", num_args = 0..=1, require_equals = true, default_missing_value = "3500000",
        value_parser = clap::value_parser!(u64).range(entity::PREPARED_ROWS..), conflicts_with = "workloads")]
    pub(crate) data_set: Option<u64>,
    /// With --data-set: bytes of the JSON of an entity, 640 or more; only the target partita
    #[arg(long, value_name = "BYTES", requires = "data_set", default_value_t = entity::BODY_BYTES as u64,
        value_parser = clap::value_parser!(u64).range(entity::BODY_BYTES_MIN as u64..=32_768))]
    pub(crate) entity_bytes: u64,
    /// With --data-set: length of the sustained batches, and of those after a restart, seconds
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    pub(crate) sustained_seconds: f64,
    /// Compare the speed of queues instead of the workloads above
    #[arg(long, conflicts_with_all = ["workloads", "data_set"])]
    pub queues: bool,
    /// With --queues: also pass this many messages through one queue, and let a fifth of them wait over a restart
    #[arg(long, value_name = "MESSAGES", requires = "queues")]
    pub(crate) queue_messages: Option<u64>,
    /// The measurement of fleets
    #[command(flatten)]
    pub fleet: FleetOptions,
    /// The measurement of a cluster
    #[command(flatten)]
    pub cluster: ClusterOptions,
    /// Threads of the load driver
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Measure each workload once, for a second, with 64 connections
    #[arg(long)]
    quick: bool,
    /// Program of this project's server; built from this tree by default
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Program of another build of this project's server, for the target `before`
    #[arg(long, value_name = "FILE")]
    pub(crate) before: Option<PathBuf>,
    /// Folder for the servers' data, on a disk: figures of durable writes are meaningless in memory
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

impl Options {
    /// The servers to measure.
    pub(crate) fn targets(&self) -> Vec<TargetKind> {
        if !self.targets.is_empty() {
            return self.targets.clone();
        }
        let before = self.before.is_some().then_some(TargetKind::Before);
        let all = [
            TargetKind::Partita,
            TargetKind::Bare,
            TargetKind::Payload,
            TargetKind::PayloadLog,
            TargetKind::Azurite,
        ];
        all.into_iter().chain(before).collect()
    }

    pub(crate) fn connections(&self) -> &[usize] {
        if self.quick { &[64] } else { &self.connections }
    }

    /// Load before each measurement.
    pub(crate) fn warm_up(&self) -> Duration {
        self.measured() / 6
    }

    /// Length of each measurement.
    pub(crate) fn measured(&self) -> Duration {
        Duration::from_secs_f64(if self.quick { 1.0 } else { self.seconds })
    }

    /// Measurements of each kind, of which the median is reported.
    pub(crate) fn repeats(&self) -> usize {
        if self.quick { 1 } else { self.repeats.max(1) }
    }

    /// The program of this project's server, which is built unless it is given.
    pub(crate) fn partita(&self) -> anyhow::Result<PathBuf> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => project::build("partita", "partita"),
        }
    }

    /// The folder for the servers' data.
    pub(crate) fn scratch(&self) -> anyhow::Result<PathBuf> {
        let scratch = self.scratch.clone();
        let scratch = scratch.unwrap_or_else(|| project::root().join("target/bench"));
        std::fs::create_dir_all(&scratch)
            .with_context(|| format!("making {}", scratch.display()))?;
        Ok(scratch)
    }
}
