//! `partita admin merge RANGE`: merges two neighbouring ranges into one.

use super::Answer;
use crate::prelude::*;
use partita_wire::admin::MergeResult;

/// Merge two neighbouring ranges
#[derive(clap::Args)]
pub(crate) struct MergeCommand {
    /// Neighbour to merge with [default: the next range]
    #[arg(long, value_name = "RANGE")]
    with: Option<u64>,
}

range_action!(MergeCommand, "merge", MergeResult; with);

impl Answer for MergeResult {
    fn write(&self, output: &mut Output) -> Result<(), CommandError> {
        output.record(&[
            ("into", Field::id(self.into)),
            ("transit_ms", Field::tenths(self.transit_ms)),
        ])
    }
}
