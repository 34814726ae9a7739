//! `partita admin checkpoint RANGE`: keeps the files of a range, for a copy of them.

use super::Answer;
use crate::prelude::*;
use clap::value_parser;
use partita_wire::admin::CheckpointResult;

/// Flush a range, and keep the files with its rows from being deleted for a while
#[derive(clap::Args)]
pub(crate) struct CheckpointCommand {
    /// How long files are kept, 1 to 86,400 [default: 60]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
}

range_action!(CheckpointCommand, "checkpoint", CheckpointResult; seconds);

impl Answer for CheckpointResult {
    fn write(&self, output: &mut Output) -> Result<(), CommandError> {
        output.record(&[
            ("checkpoint", Field::text(&self.checkpoint)),
            ("seconds", Field::count(self.seconds)),
        ])
    }
}
