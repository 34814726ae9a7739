//! The two ways out: data to stdout, talk to stderr.

use std::io::{self, Write as _};

/// Writes data to stdout. Flushed, so that a program waiting for a line gets it.
///
/// # Errors
/// stdout takes no more; see [`is_closed_pipe`].
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes lines to stdout that a server goes on without: whoever started it may not listen.
pub(crate) fn announce(text: &str) {
    let _ = data(text);
}

/// Writes one line to stderr. There is nobody to tell when that fails.
pub(crate) fn talk(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// True if the reader of our output went away, as `head` does: no failure of ours.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
