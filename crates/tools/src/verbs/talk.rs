//! What is said on stderr: notes, questions, progress on a terminal, and the last line.

use super::connection::Connection;
use super::failure::Failure;
use crate::source::{Traffic, TrafficCounts};
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a bar turns while nothing happens.
const TICK: Duration = Duration::from_millis(120);

/// Writes one line to stderr, in one piece: others may write there too. There is nobody to tell when that fails.
pub(super) fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// A number with its thousands set off.
pub(super) fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number of things: `1 row`, `2 rows`.
pub(super) fn many(number: u64, one: &str, several: &str) -> String {
    let noun = if number == 1 { one } else { several };
    format!("{} {noun}", count(number))
}

/// Asks before something that cannot be taken back. `yes` is the answer given beforehand.
pub(super) fn confirm(what: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::NeedsYes(what.to_owned()));
    }
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{what}? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(Failure::Input)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Declined),
    }
}

/// The last line of a verb, and what comes before it.
pub(super) struct Talk {
    traffic: Arc<Traffic>,
    before: TrafficCounts,
    begin: Instant,
    bar: ProgressBar,
}

impl Talk {
    /// Begins to measure.
    pub(super) fn new(connection: &Connection) -> Self {
        Self::over(&connection.traffic)
    }

    /// Begins to measure what is counted here.
    pub(super) fn over(traffic: &Arc<Traffic>) -> Self {
        Self {
            traffic: Arc::clone(traffic),
            before: traffic.counts(),
            begin: Instant::now(),
            bar: ProgressBar::hidden(),
        }
    }

    /// Shows progress from here on, if there is a terminal for it: with a bar and the time left where the whole is known. Not
    /// where rows scroll by on the same terminal.
    pub(super) fn show_progress(&mut self, noun: &str, whole: Option<u64>, prints_rows: bool) {
        self.bar.finish_and_clear();
        if !io::stderr().is_terminal() || prints_rows && io::stdout().is_terminal() {
            return;
        }
        let (bar, template) = match whole {
            None => (
                ProgressBar::new_spinner(),
                format!("{{spinner}} {{human_pos}} {noun}  {{rate}}  {{msg}}  {{elapsed}}"),
            ),
            Some(whole) => (
                ProgressBar::new(whole),
                format!(
                    "{{wide_bar}} {{human_pos}}/{{human_len}} {noun}  {{rate}}  {{msg}}  {{eta}} left"
                ),
            ),
        };
        let style = ProgressStyle::with_template(&template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let style = style.with_key("rate", |state: &ProgressState, to: &mut dyn fmt::Write| {
            let _ = write!(to, "{}/s", HumanCount(state.per_sec() as u64));
        });
        self.bar = bar.with_style(style);
        self.bar.enable_steady_tick(TICK);
    }

    /// So much is done.
    pub(super) fn progress(&self, done: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_position(done);
            self.bar
                .set_message(BinaryBytes(self.counts().bytes).to_string());
        }
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.counts().requests
    }

    /// Takes the progress away, to ask or to say something.
    pub(super) fn hide_progress(&self) {
        self.bar.finish_and_clear();
    }

    /// The last line: what was done, requests, bytes, time.
    pub(super) fn end(self, what: &str) {
        self.hide_progress();
        let TrafficCounts {
            requests,
            retries,
            bytes,
        } = self.counts();
        let mut line = format!("{what}, {}", many(requests, "request", "requests"));
        if retries > 0 {
            line.push_str(&format!(" ({} tried again)", count(retries)));
        }
        let seconds = self.begin.elapsed().as_secs_f64();
        say(&format!("{line}, {}, {seconds:.2} s", BinaryBytes(bytes)));
    }

    fn counts(&self) -> TrafficCounts {
        let now = self.traffic.counts();
        TrafficCounts {
            requests: now.requests - self.before.requests,
            retries: now.retries - self.before.retries,
            bytes: now.bytes - self.before.bytes,
        }
    }
}
