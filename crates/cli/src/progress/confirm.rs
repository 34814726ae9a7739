//! Asks for confirmation before something that cannot be undone.

use crate::error::CommandError;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// Asks for confirmation of `what`. Fails unless stdin and stderr are terminals.
pub(super) fn confirm(what: &str) -> Result<(), CommandError> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(CommandError::NeedsYes(what.to_owned()));
    }
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{what}? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(CommandError::Input)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::Declined),
    }
}
