//! `partita admin split RANGE`

use super::RangeArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{Field, tenths};
use crate::server::DEFAULT_ACCOUNT;
use partita_wire::admin::{NamedKey, RangeActionParams, SplitResult};

#[derive(clap::Args)]
#[command(about = "Split a range in two")]
pub(crate) struct SplitCommand {
    /// Table of --at [default: split in the middle of the range's bytes]
    #[arg(long, value_name = "TABLE", requires = "at")]
    table: Option<String>,
    /// First PartitionKey of the right range
    #[arg(long, value_name = "KEY", requires = "table")]
    at: Option<String>,
    /// Account of the table
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ACCOUNT)]
    account: String,
    #[command(flatten)]
    range: RangeArgs,
}

impl SplitCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let account = self.at.is_some().then_some(self.account);
        let params = RangeActionParams {
            account,
            table: self.table,
            partition_key: self.at,
            ..RangeActionParams::default()
        };
        self.range
            .act("split", &params, |split: &SplitResult, fields| {
                let at = split.at.as_ref().map(NamedKey::to_string);
                fields.write(&[
                    ("at", Field::text(at.as_deref().unwrap_or_default())),
                    ("left", Field::count(split.left)),
                    ("right", Field::count(split.right)),
                    ("transit_ms", Field::Plain(tenths(split.transit_ms))),
                ])
            })
            .await
    }
}
