//! `partita admin flush|compact|collect RANGE`: actions without parameters, which maintenance runs by itself sooner or later.

use partita_wire::admin::ActionDone;

/// Move rows from memory to files, so that a start has nothing to replay
#[derive(clap::Args)]
pub(crate) struct FlushCommand {}

/// Rewrite the files of a range, and those it shares, into as few as possible
#[derive(clap::Args)]
pub(crate) struct CompactCommand {}

/// Delete files and databases that nothing reads
#[derive(clap::Args)]
pub(crate) struct CollectCommand {}

range_action!(FlushCommand, "flush", ActionDone);
range_action!(CompactCommand, "compact", ActionDone);
range_action!(CollectCommand, "collect", ActionDone);
