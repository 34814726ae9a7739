//! `partita admin flush|compact|collect RANGE`: actions without parameters. The server's maintenance also runs them
//! without a command.

use partita_wire::admin::ActionDone;

/// Write a range's rows from memory to files, so that a restart need not replay them
#[derive(clap::Args)]
pub(crate) struct FlushCommand {}

/// Rewrite the files of a range into as few as possible, including files that it shares with other ranges
#[derive(clap::Args)]
pub(crate) struct CompactCommand {}

/// Delete files and databases that nothing reads
#[derive(clap::Args)]
pub(crate) struct CollectCommand {}

range_action!(FlushCommand, "flush", ActionDone);
range_action!(CompactCommand, "compact", ActionDone);
range_action!(CollectCommand, "collect", ActionDone);
