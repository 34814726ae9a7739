//! Commands on a Partita server: `serve` runs it, `check` checks the files of a stopped server, `connect` prints how to
//! connect to it; `status`, `servers`, `hot`, `heat` and `ranges` read its admin port.
//!
//! With `--output json` the last four print the documents of the admin API unchanged. The other formats are for reading
//! and for spreadsheets.

pub(crate) mod check;
pub(crate) mod connect;
pub(crate) mod heat;
pub(crate) mod hot;
pub(crate) mod ranges;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod status;

use partita_wire::admin::NamedKey;

/// The default account of tables.
pub(crate) const DEFAULT_ACCOUNT: &str = "devstoreaccount1";

/// A bound of a range as text.
fn bound(key: Option<&NamedKey>, none: &str) -> String {
    key.map_or_else(|| none.to_owned(), NamedKey::to_string)
}
