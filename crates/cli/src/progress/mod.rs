//! Messages on stderr: notes, questions, a progress bar on a terminal, and the last line of a command.

mod bar;
mod confirm;

pub(crate) use bar::Bar;

use crate::error::{CommandError, CommandResult, Outcome};
use crate::units::{bytes, count, many};
use partita_tools::source::{Traffic, TrafficCounts};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

/// Writes one line to stderr in a single write, as other processes may write there too. An error cannot be reported
/// anywhere.
pub(crate) fn message(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Progress of a command: a bar while it runs, and its last line.
pub(crate) struct Progress {
    begin: Instant,
    pub(crate) bar: Bar,
}

impl Progress {
    /// Starts to measure time, and the requests that `traffic` counts.
    pub(crate) fn new(traffic: &Arc<Traffic>) -> Self {
        Self {
            begin: Instant::now(),
            bar: Bar::new(traffic),
        }
    }

    /// Asks for confirmation of `what`. The measured time excludes the wait for the answer.
    pub(crate) fn confirm(&mut self, what: &str) -> Result<(), CommandError> {
        self.bar.hide();
        let asked = Instant::now();
        let answer = confirm::confirm(what);
        self.begin += asked.elapsed();
        answer
    }

    /// Shows the bar if stderr is a terminal, unless the command prints rows to the same terminal.
    pub(crate) fn start_bar(&self, noun: &str, total: Option<u64>, prints_rows: bool) {
        self.bar.hide();
        if !(prints_rows && io::stdout().is_terminal()) {
            self.bar.show(noun, total);
        }
    }

    /// Ends a command with the number of things that it found.
    pub(crate) fn finish_count(self, found: u64, one: &str, several: &str) -> CommandResult {
        self.finish(&many(found, one, several), Outcome::of_count(found))
    }

    /// Ends the command with its last line: the result, requests, bytes of their bodies, time.
    pub(crate) fn finish(self, what: &str, outcome: Outcome) -> CommandResult {
        self.bar.hide();
        let TrafficCounts {
            requests,
            retries,
            bytes: sent_and_received,
        } = self.bar.traffic();
        let requests = many(requests, "request", "requests");
        let retried = match retries {
            0 => String::new(),
            retries => format!(" ({} retried)", count(retries)),
        };
        let size = bytes(sent_and_received);
        let seconds = self.begin.elapsed().as_secs_f64();
        message(&format!(
            "{what}, {requests}{retried}, {size}, {seconds:.2} s"
        ));
        Ok(outcome)
    }
}
