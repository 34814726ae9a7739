//! `partita admin checkpoint RANGE`: flushes a range and protects its files from deletion, so that they can be copied.

use super::Answer;
use crate::prelude::*;
use clap::value_parser;
use partita_wire::admin::CheckpointResult;

/// Flush a range, and protect its files from deletion for a limited time
#[derive(clap::Args)]
pub(crate) struct CheckpointCommand {
    /// Seconds for which the files are protected, 1 to 86,400 [default: 60]
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
