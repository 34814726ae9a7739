//! `partita admin checkpoint RANGE`: flushes a range and protects its files from deletion, so that they can be copied.

use super::Answer;
use crate::prelude::*;
use crate::units::seconds_within;
use partita_wire::admin::CheckpointResult;

/// Flush a range, and protect its files from deletion for a limited time
#[derive(clap::Args)]
pub(crate) struct CheckpointCommand {
    /// How long the files are protected, 1s to 1d [default: 60s]
    #[arg(long = "for", alias = "seconds", value_name = "TIME", value_parser = seconds_within(1..=86_400))]
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
