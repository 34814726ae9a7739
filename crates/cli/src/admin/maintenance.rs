//! `partita admin flush|compact|collect RANGE`: actions without parameters, which maintenance runs by itself sooner or later.

use super::RangeAction;
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

impl RangeAction for FlushCommand {
    const NAME: &str = "flush";
    type Answer = ActionDone;
}

impl RangeAction for CompactCommand {
    const NAME: &str = "compact";
    type Answer = ActionDone;
}

impl RangeAction for CollectCommand {
    const NAME: &str = "collect";
    type Answer = ActionDone;
}
