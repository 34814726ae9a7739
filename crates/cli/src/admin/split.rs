//! `partita admin split RANGE`: splits a range in two.

use super::{Answer, RangeAction};
use crate::prelude::*;
use crate::server::DEFAULT_ACCOUNT;
use partita_wire::admin::{NamedKey, RangeActionParams, SplitResult};

/// Split a range in two
#[derive(clap::Args)]
pub(crate) struct SplitCommand {
    /// Table of the PartitionKey --at [default without both: split in the middle of the range's bytes]
    #[arg(long, value_name = "TABLE", requires = "at")]
    table: Option<String>,
    /// First PartitionKey of the right range
    #[arg(long, value_name = "KEY", requires = "table")]
    at: Option<String>,
    /// Account of the table
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ACCOUNT)]
    account: String,
}

impl RangeAction for SplitCommand {
    const NAME: &str = "split";
    type Answer = SplitResult;

    fn set(self, params: &mut RangeActionParams) {
        params.account = self.at.is_some().then_some(self.account);
        params.table = self.table;
        params.partition_key = self.at;
    }
}

impl Answer for SplitResult {
    fn write(&self, output: &mut Output) -> Result<(), CommandError> {
        let at = self.at.as_ref().map(NamedKey::to_string);
        output.record(&[
            ("at", Field::text(at.as_deref().unwrap_or_default())),
            ("left", Field::id(self.left)),
            ("right", Field::id(self.right)),
            ("transit_ms", Field::tenths(self.transit_ms)),
        ])
    }
}
