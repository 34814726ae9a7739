//! The condition on rows, `--filter`. Commands that took it by position still do.

use crate::error::CommandError;
use crate::progress::message;
use partita_wire::table::check_filter;
use std::sync::Once;

/// A condition on rows, or none.
#[derive(Debug, clap::Args)]
pub(crate) struct FilterArgs {
    /// OData filter, such as "Age ge 18 and PartitionKey eq 'a'"
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// The filter by position, an old spelling
    #[arg(value_name = "OLD-FILTER", hide = true, conflicts_with = "filter")]
    positional: Option<String>,
}

/// A condition on rows that must be given; an empty text stands for every row.
#[derive(Debug, clap::Args)]
pub(crate) struct NeededFilterArgs {
    /// OData filter, such as "Age ge 18 and PartitionKey eq 'a'"; "" for every row
    #[arg(long, value_name = "FILTER", required_unless_present = "positional")]
    filter: Option<String>,
    /// The filter by position, an old spelling
    #[arg(value_name = "OLD-FILTER", hide = true, conflicts_with = "filter")]
    positional: Option<String>,
}

impl FilterArgs {
    /// The filter, checked; `None` for a blank one, which every row matches.
    pub(crate) fn checked(&self) -> Result<Option<&str>, CommandError> {
        let text = text(self.filter.as_deref(), self.positional.as_deref());
        let text = text.filter(|text| !text.trim().is_empty());
        text.map(check_filter).transpose()?;
        Ok(text)
    }
}

impl NeededFilterArgs {
    /// The filter, checked.
    pub(crate) fn checked(&self) -> Result<&str, CommandError> {
        let text = text(self.filter.as_deref(), self.positional.as_deref()).unwrap_or_default();
        check_filter(text)?;
        Ok(text)
    }
}

fn text<'a>(flag: Option<&'a str>, positional: Option<&'a str>) -> Option<&'a str> {
    // Some commands read their filter several times.
    static NOTE: Once = Once::new();
    if positional.is_some() {
        NOTE.call_once(|| {
            message("note: write the filter as --filter FILTER; without the flag it works in this release only");
        });
    }
    flag.or(positional)
}
