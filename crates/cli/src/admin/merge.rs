//! `partita admin merge RANGE`

use super::RangeArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{Field, tenths};
use partita_wire::admin::{MergeResult, RangeActionParams};

#[derive(clap::Args)]
#[command(about = "Merge two neighbouring ranges")]
pub(crate) struct MergeCommand {
    /// Neighbour to merge with [default: the next range]
    #[arg(long, value_name = "RANGE")]
    with: Option<u64>,
    #[command(flatten)]
    range: RangeArgs,
}

impl MergeCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let params = RangeActionParams {
            with: self.with,
            ..RangeActionParams::default()
        };
        self.range
            .act("merge", &params, |merge: &MergeResult, fields| {
                fields.write(&[
                    ("into", Field::count(merge.into)),
                    ("transit_ms", Field::Plain(tenths(merge.transit_ms))),
                ])
            })
            .await
    }
}
