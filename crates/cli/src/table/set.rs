//! `partita table set TABLE --ttl TIME`: the time to live of rows.

use super::extended_table;
use crate::prelude::*;
use crate::units::{duration, parse_duration};
use partita_client::TimeToLive;
use std::time::Duration;

/// Set the time to live of a table's rows (Partita only)
#[derive(clap::Args)]
pub(crate) struct SetCommand {
    /// Table name
    table: String,
    /// Time to live since the last write of a row, such as 30d or 12h, or `none` to keep rows forever
    #[arg(long, value_name = "TIME", value_parser = TtlArg::parse)]
    ttl: TtlArg,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// `none`, or a duration of whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TtlArg(Option<TimeToLive>);

impl TtlArg {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let time = parse_duration(text)?;
        if time.subsec_nanos() != 0 {
            return Err("a time to live must be in whole seconds".to_owned());
        }
        let ttl = TimeToLive::from_seconds(time.as_secs());
        ttl.map(|ttl| Self(Some(ttl)))
            .map_err(|error| error.to_string())
    }
}

/// A time to live in the form that `--ttl` accepts.
pub(super) fn ttl_text(ttl: Option<TimeToLive>) -> String {
    ttl.map_or("none".to_owned(), |ttl| {
        duration(Duration::from_secs(ttl.seconds()))
    })
}

impl AccountCommand for SetCommand {
    async fn run(self, connection: Connection, _: Progress) -> CommandResult {
        let (table, settings, mut progress) = extended_table(&connection, &self.table).await?;
        let TtlArg(ttl) = self.ttl;
        let is_shorter = ttl.is_some_and(|ttl| settings.ttl.is_none_or(|now| ttl < now));
        if is_shorter {
            let question = format!(
                "delete rows of {} last written more than {} ago",
                settings.name,
                ttl_text(ttl)
            );
            self.confirm.confirm(&question, &mut progress)?;
        }
        table.set_time_to_live(ttl).await?;
        let end = format!("time to live of {} is {}", settings.name, ttl_text(ttl));
        progress.finish(&end, Outcome::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_are_written_as_they_are_read() {
        for (text, seconds) in [
            ("30d", 30 * 86_400),
            ("12h 5m", 43_500),
            ("1s", 1),
            ("90s", 90),
        ] {
            let TtlArg(ttl) = TtlArg::parse(text).unwrap();
            assert_eq!(ttl.unwrap().seconds(), seconds, "{text}");
            assert_eq!(TtlArg::parse(&ttl_text(ttl)), Ok(TtlArg(ttl)), "{text}");
        }
        assert_eq!(TtlArg::parse("none"), Ok(TtlArg(None)));
        assert_eq!(ttl_text(None), "none");
        for text in ["", "30", "0s", "500ms", "1s 1ms", "-1d", "forever", "101y"] {
            assert!(TtlArg::parse(text).is_err(), "{text}");
        }
    }
}
