//! What is said on stderr: notes, questions, progress on a terminal, and the last line.

use crate::args::connection::Connection;
use crate::error::Failure;
use indicatif::{
    BinaryBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use partita_tools::source::{Traffic, TrafficCounts};
use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a bar turns while nothing happens.
const TICK: Duration = Duration::from_millis(120);

/// Writes one line to stderr, in one piece: others may write there too. There is nobody to tell when that fails.
pub(crate) fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// A number with its thousands set off.
pub(crate) fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number of things: `1 row`, `2 rows`.
pub(crate) fn many(number: u64, one: &str, several: &str) -> String {
    let noun = if number == 1 { one } else { several };
    format!("{} {noun}", count(number))
}

/// Asks before something that cannot be taken back. `yes` is the answer given beforehand.
pub(crate) fn confirm(what: &str, yes: bool) -> Result<(), Failure> {
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
pub(crate) struct Talk {
    begin: Instant,
    bar: Bar,
}

/// Progress on a terminal; elsewhere nothing is shown. Clones are the same bar.
#[derive(Clone)]
pub(crate) struct Bar {
    bar: ProgressBar,
    traffic: Arc<Traffic>,
    before: TrafficCounts,
}

impl Talk {
    /// Begins to measure.
    pub(crate) fn new(connection: &Connection) -> Self {
        Self::over(&connection.traffic)
    }

    /// Begins to measure what is counted here.
    pub(crate) fn over(traffic: &Arc<Traffic>) -> Self {
        Self {
            begin: Instant::now(),
            bar: Bar {
                bar: ProgressBar::hidden(),
                traffic: Arc::clone(traffic),
                before: traffic.counts(),
            },
        }
    }

    /// Shows progress from here on, if there is a terminal for it. Not where rows scroll by on the same terminal.
    pub(crate) fn show_progress(&mut self, noun: &str, whole: Option<u64>, prints_rows: bool) {
        self.hide_progress();
        if !(prints_rows && io::stdout().is_terminal()) {
            self.bar.show(noun, whole);
        }
    }

    /// The bar, for others to move.
    pub(crate) fn bar(&self) -> Bar {
        self.bar.clone()
    }

    /// So much is done.
    pub(crate) fn progress(&self, done: u64) {
        self.bar.progress(done);
    }

    /// Requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.bar.counts().requests
    }

    /// Requests so far that were tried again.
    pub(crate) fn retries(&self) -> u64 {
        self.bar.counts().retries
    }

    /// Takes the progress away, to ask or to say something.
    pub(crate) fn hide_progress(&self) {
        self.bar.hide();
    }

    /// How long it has taken so far, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// The last line: what was done, requests, bytes, time.
    pub(crate) fn end(self, what: &str) {
        self.hide_progress();
        let TrafficCounts {
            requests,
            retries,
            bytes,
        } = self.bar.counts();
        let mut line = format!("{what}, {}", many(requests, "request", "requests"));
        if retries > 0 {
            line.push_str(&format!(" ({} tried again)", count(retries)));
        }
        let seconds = self.seconds();
        say(&format!("{line}, {}, {seconds:.2} s", BinaryBytes(bytes)));
    }
}

impl Bar {
    /// Shows it on a terminal, from the beginning: with the time left where the whole is known.
    pub(crate) fn show(&self, noun: &str, whole: Option<u64>) {
        let template = match whole {
            None => format!("{{spinner}} {{human_pos}} {noun}  {{rate}}  {{msg}}  {{elapsed}}"),
            Some(_) => format!(
                "{{wide_bar}} {{human_pos}}/{{human_len}} {noun}  {{rate}}  {{msg}}  {{eta}} left"
            ),
        };
        self.show_as(&template, whole);
    }

    /// The same where the whole is a number of bytes.
    pub(crate) fn show_bytes(&self, whole: u64) {
        let template = "{wide_bar} {binary_bytes}/{binary_total_bytes}  {msg}  {eta} left";
        self.show_as(template, Some(whole));
    }

    fn show_as(&self, template: &str, whole: Option<u64>) {
        if !io::stderr().is_terminal() {
            return;
        }
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let style = style.with_key("rate", |state: &ProgressState, to: &mut dyn fmt::Write| {
            let _ = write!(to, "{}/s", HumanCount(state.per_sec() as u64));
        });
        self.bar.set_style(style);
        self.bar.reset();
        match whole {
            Some(whole) => self.bar.set_length(whole),
            None => self.bar.unset_length(),
        }
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.enable_steady_tick(TICK);
    }

    /// So much is done.
    pub(crate) fn progress(&self, done: u64) {
        self.progress_with(done, "");
    }

    /// So much is done, and something to say about it.
    pub(crate) fn progress_with(&self, done: u64, note: &str) {
        if !self.bar.is_hidden() {
            self.bar.set_position(done);
            let bytes = BinaryBytes(self.counts().bytes);
            self.bar.set_message(format!("{bytes}{note}"));
        }
    }

    /// Takes it away, to ask or to say something.
    pub(crate) fn hide(&self) {
        self.bar.finish_and_clear();
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
