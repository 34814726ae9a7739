//! `partita admin freeze RANGE`: delays writes, to see what clients do during a split.

use clap::value_parser;
use partita_wire::admin::ActionDone;

/// Delay writes to a range for a moment, as a split does
#[derive(clap::Args)]
pub(crate) struct FreezeCommand {
    /// Milliseconds for which writes wait, 1 to 1,000 [default: 100]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1000))]
    milliseconds: Option<u64>,
}

range_action!(FreezeCommand, "freeze", ActionDone; milliseconds);
