//! `partita admin freeze RANGE`

use super::RangeArgs;
use super::maintenance::act;
use crate::error::{CommandError, Outcome};
use clap::value_parser;
use partita_wire::admin::RangeActionParams;

#[derive(clap::Args)]
#[command(about = "Make writes to a range wait for a moment, as a split does")]
pub(crate) struct FreezeCommand {
    /// How long writes wait, at most 1,000 [default: 100]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1000))]
    milliseconds: Option<u64>,
    #[command(flatten)]
    range: RangeArgs,
}

impl FreezeCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let params = RangeActionParams {
            milliseconds: self.milliseconds,
            ..RangeActionParams::default()
        };
        act(self.range, "freeze", &params).await
    }
}
