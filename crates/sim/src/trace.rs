//! The trace: all requests, store calls and warnings, in order, with the virtual time.
//!
//! Two runs of a seed must give the same bytes. So a line contains the request or call and its outcome, but nothing
//! that depends on the machine.

use std::fmt::{Debug, Formatter};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ring::digest::{Context, SHA256};

use crate::seed::first_number;

/// Collects lines. Clones share one trace.
#[derive(Clone)]
pub(crate) struct Trace {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    /// Texts that differ between runs.
    hidden: Vec<String>,
    lines: u64,
    digest: Context,
    file: Option<BufWriter<File>>,
    failure: Option<std::io::Error>,
}

/// The summary of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) lines: u64,
    /// The first bytes of the SHA-256 of all lines.
    pub(crate) digest: u64,
}

impl Debug for Trace {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Trace {
    /// A trace that is written to `file`; without a file, the lines are only counted and hashed.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn new(file: Option<&Path>) -> std::io::Result<Self> {
        let file = file.map(File::create).transpose()?.map(BufWriter::new);
        let inner = Inner {
            hidden: Vec::new(),
            lines: 0,
            digest: Context::new(&SHA256),
            file,
            failure: None,
        };
        Ok(Self {
            inner: Arc::new(Mutex::new(inner)),
        })
    }

    /// Shows `~` instead of this text from now on, because it differs between runs.
    pub(crate) fn hide(&self, text: String) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.hidden.push(text);
    }

    /// Adds a line: an event of `source` now.
    pub(crate) fn note(&self, source: &str, event: &str) {
        let now = turmoil::sim_elapsed().unwrap_or(Duration::ZERO);
        self.note_at(now, source, event);
    }

    /// Adds a line for an event that no host causes.
    pub(crate) fn note_at(&self, now: Duration, source: &str, event: &str) {
        let mut line = format!("{:.6} {source} {event}\n", now.as_secs_f64());
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for hidden in &inner.hidden {
            if line.contains(hidden) {
                line = line.replace(hidden, "~");
            }
        }
        inner.lines += 1;
        inner.digest.update(line.as_bytes());
        if let Some(file) = &mut inner.file
            && let Err(error) = file.write_all(line.as_bytes())
        {
            inner.failure.get_or_insert(error);
        }
    }

    /// Flushes the file, and returns the summary.
    ///
    /// # Errors
    /// When a line could not be written.
    pub(crate) fn finish(&self) -> std::io::Result<Summary> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = inner.failure.take() {
            return Err(error);
        }
        if let Some(file) = &mut inner.file {
            file.flush()?;
        }
        let digest = inner.digest.clone().finish();
        Ok(Summary {
            lines: inner.lines,
            digest: first_number(&digest),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_counted_and_hashed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let one = Trace::new(Some(file.path())).unwrap();
        let other = Trace::new(None).unwrap();
        for trace in [&one, &other] {
            trace.note("client", "asks");
            trace.note("server", "answers");
        }
        assert_eq!(one.finish().unwrap(), other.finish().unwrap());
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, "0.000000 client asks\n0.000000 server answers\n");
        other.note("server", "answers");
        assert_ne!(one.finish().unwrap(), other.finish().unwrap());
    }
}
