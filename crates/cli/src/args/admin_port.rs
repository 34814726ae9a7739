//! The flag that says where a server's admin port is, for every verb that asks one: this crate's, and those of the binary that
//! concern its server.

use crate::args::text;
use clap::{Arg, ArgMatches};
use partita_tools::admin::{AdminError, AdminPort};
use partita_tools::source::Traffic;
use std::sync::Arc;

const FLAG: &str = "admin";
const VARIABLE: &str = "PARTITA_ADMIN";
/// Where the admin port of the server on this machine is unless told otherwise.
pub(crate) const LOCAL: &str = "http://127.0.0.1:10010";

/// The flag.
#[must_use]
pub(crate) fn argument() -> Arg {
    let help =
        format!("Where the server's admin port is [variable: {VARIABLE}] [default: {LOCAL}]");
    Arg::new(FLAG).long(FLAG).value_name("URL").help(help)
}

/// What the flag says, else the variable, else the server on this machine. What is asked of it is counted in `traffic`.
///
/// # Errors
/// [`AdminError::Url`].
pub(crate) fn of(matches: &ArgMatches, traffic: Arc<Traffic>) -> Result<AdminPort, AdminError> {
    let variable = std::env::var(VARIABLE).ok();
    let variable = variable.filter(|url| !url.trim().is_empty());
    let url = text(matches, FLAG).or(variable.as_deref());
    AdminPort::new(url.unwrap_or(LOCAL), traffic)
}
