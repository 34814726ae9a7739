//! `partita admin flush|compact|collect RANGE`: actions without parameters.

use super::RangeArgs;
use crate::error::{CommandError, Outcome};
use crate::output::Field;
use partita_client::ValueRef;
use partita_wire::admin::{ActionDone, RangeActionParams};

#[derive(clap::Args)]
#[command(about = "Move rows from memory to files, so that a start has nothing to replay")]
pub(crate) struct FlushCommand {
    #[command(flatten)]
    range: RangeArgs,
}

#[derive(clap::Args)]
#[command(about = "Rewrite the files of a range, and those it shares, into as few as possible")]
pub(crate) struct CompactCommand {
    #[command(flatten)]
    range: RangeArgs,
}

#[derive(clap::Args)]
#[command(about = "Delete files and databases that nothing reads")]
pub(crate) struct CollectCommand {
    #[command(flatten)]
    range: RangeArgs,
}

impl FlushCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        act(self.range, "flush", &RangeActionParams::default()).await
    }
}

impl CompactCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        act(self.range, "compact", &RangeActionParams::default()).await
    }
}

impl CollectCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        act(self.range, "collect", &RangeActionParams::default()).await
    }
}

/// Runs an action that answers only that it is done.
pub(super) async fn act(
    range: RangeArgs,
    action: &str,
    params: &RangeActionParams,
) -> Result<Outcome, CommandError> {
    let write = |answer: &ActionDone, fields: &mut super::Fields| {
        let done = Field::Plain(ValueRef::Boolean(answer.done));
        fields.write(&[("done", done)])
    };
    range.act(action, params, write).await
}
