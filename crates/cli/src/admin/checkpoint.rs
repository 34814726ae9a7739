//! `partita admin checkpoint RANGE`

use super::RangeArgs;
use crate::error::{CommandError, Outcome};
use crate::output::Field;
use clap::value_parser;
use partita_wire::admin::{CheckpointResult, RangeActionParams};

#[derive(clap::Args)]
#[command(about = "Flush a range, and keep the files with its rows from being deleted for a while")]
pub(crate) struct CheckpointCommand {
    /// How long files are kept, 1 to 86,400 [default: 60]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    #[command(flatten)]
    range: RangeArgs,
}

impl CheckpointCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let params = RangeActionParams {
            seconds: self.seconds,
            ..RangeActionParams::default()
        };
        self.range
            .act("checkpoint", &params, |made: &CheckpointResult, fields| {
                fields.write(&[
                    ("checkpoint", Field::text(&made.checkpoint)),
                    ("seconds", Field::count(made.seconds)),
                ])
            })
            .await
    }
}
