//! `partita admin freeze RANGE`: delays writes, to see what clients do during a split.

use crate::units::{DURATION_HELP, parse_duration};
use partita_wire::admin::ActionDone;

/// Delay writes to a range for a moment, as a split does
#[derive(clap::Args)]
pub(crate) struct FreezeCommand {
    /// How long writes wait, 1ms to 1s [default: 100ms]
    #[arg(long = "for", alias = "milliseconds", value_name = "TIME", value_parser = milliseconds)]
    milliseconds: Option<u64>,
}

/// Parses a duration of at most a second. A plain number, an old spelling, means milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let milliseconds = match text.parse() {
        Ok(milliseconds) => milliseconds,
        Err(_) => u64::try_from(parse_duration(text)?.as_millis()).unwrap_or(u64::MAX),
    };
    let is_allowed = (1..=1000).contains(&milliseconds);
    let refused = || format!("expected a duration from 1ms to 1s, {DURATION_HELP}");
    is_allowed.then_some(milliseconds).ok_or_else(refused)
}

range_action!(FreezeCommand, "freeze", ActionDone; milliseconds);
