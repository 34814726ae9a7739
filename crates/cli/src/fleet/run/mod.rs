//! `partita fleet run KIND`: starts a job.

mod import;
mod kinds;
mod start;

use super::OnFleet;
use crate::prelude::*;
use import::ImportCommand;
use kinds::{
    CopyCommand, CountCommand, EnqueueCommand, ExecCommand, ExportCommand, PartitionsCommand,
    PurgeCommand,
};

commands! {
    pub(crate) enum RunCommand {
        Count(OnFleet<CountCommand>),
        Copy(OnFleet<CopyCommand>),
        Export(OnFleet<ExportCommand>),
        Import(OnFleet<ImportCommand>),
        Partitions(OnFleet<PartitionsCommand>),
        Purge(OnFleet<PurgeCommand>),
        Enqueue(OnFleet<EnqueueCommand>),
        Exec(OnFleet<ExecCommand>),
    }
}
