//! `partita admin flush|compact|collect RANGE`: actions without parameters, which maintenance runs by itself sooner or later.

use super::RangeAction;
use partita_wire::admin::ActionDone;

#[derive(clap::Args)]
#[command(about = "Move rows from memory to files, so that a start has nothing to replay")]
pub(crate) struct FlushCommand {}

#[derive(clap::Args)]
#[command(about = "Rewrite the files of a range, and those it shares, into as few as possible")]
pub(crate) struct CompactCommand {}

#[derive(clap::Args)]
#[command(about = "Delete files and databases that nothing reads")]
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
