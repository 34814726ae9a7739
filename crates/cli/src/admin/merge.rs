//! `partita admin merge RANGE`: one range in place of two neighbours.

use super::{Answer, RangeAction};
use crate::prelude::*;
use partita_wire::admin::{MergeResult, RangeActionParams};

/// Merge two neighbouring ranges
#[derive(clap::Args)]
pub(crate) struct MergeCommand {
    /// Neighbour to merge with [default: the next range]
    #[arg(long, value_name = "RANGE")]
    with: Option<u64>,
}

impl RangeAction for MergeCommand {
    const NAME: &str = "merge";
    type Answer = MergeResult;

    fn set(self, params: &mut RangeActionParams) {
        params.with = self.with;
    }
}

impl Answer for MergeResult {
    fn write(&self, output: &mut Output) -> Result<(), CommandError> {
        output.record(&[
            ("into", Field::count(self.into)),
            ("transit_ms", Field::tenths(self.transit_ms)),
        ])
    }
}
