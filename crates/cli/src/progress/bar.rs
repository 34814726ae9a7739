//! The progress bar, shown on a terminal only.

use crate::units::{bytes, count};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use partita_tools::source::{Traffic, TrafficCounts};
use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

/// How often the spinner turns while nothing happens.
const TICK: Duration = Duration::from_millis(120);

/// A progress bar that also shows the bytes of the requests. Clones share one bar.
#[derive(Clone)]
pub(crate) struct Bar {
    bar: ProgressBar,
    traffic: Arc<Traffic>,
    before: TrafficCounts,
}

impl Bar {
    /// A hidden bar.
    pub(super) fn new(traffic: &Arc<Traffic>) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            traffic: Arc::clone(traffic),
            before: traffic.counts(),
        }
    }

    /// Shows the bar from zero, with the time left if the total is known.
    pub(crate) fn show(&self, noun: &str, total: Option<u64>) {
        let template = match total {
            None => format!("{{spinner}} {{human_pos}} {noun}  {{rate}}  {{msg}}  {{elapsed}}"),
            Some(_) => format!(
                "{{wide_bar}} {{human_pos}}/{{human_len}} {noun}  {{rate}}  {{msg}}  {{eta}} left"
            ),
        };
        self.show_as(&template, total);
    }

    /// Like [`Self::show`], for a total in bytes.
    pub(crate) fn show_bytes(&self, total: u64) {
        let template = "{wide_bar} {done}/{total}  {msg}  {eta} left";
        self.show_as(template, Some(total));
    }

    fn show_as(&self, template: &str, total: Option<u64>) {
        if !io::stderr().is_terminal() {
            return;
        }
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let style = style
            .with_key("rate", |state: &ProgressState, to: &mut dyn fmt::Write| {
                let _ = write!(to, "{}/s", count(state.per_sec() as u64));
            })
            .with_key("done", |state: &ProgressState, to: &mut dyn fmt::Write| {
                let _ = to.write_str(&bytes(state.pos()));
            })
            .with_key("total", |state: &ProgressState, to: &mut dyn fmt::Write| {
                let _ = to.write_str(&bytes(state.len().unwrap_or_default()));
            });
        // A bar that is shown a second time would else be drawn once on its old target, which nothing clears.
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.bar.set_style(style);
        self.bar.reset();
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.enable_steady_tick(TICK);
    }

    /// Moves the bar.
    pub(crate) fn set_position(&self, done: u64) {
        self.set_position_with(done, "");
    }

    /// Moves the bar, and shows a note after the bytes.
    pub(crate) fn set_position_with(&self, done: u64, note: &str) {
        if !self.bar.is_hidden() {
            self.bar.set_position(done);
            let moved = bytes(self.traffic().bytes);
            self.bar.set_message(format!("{moved}{note}"));
        }
    }

    /// Shows how many bytes of a file are done; the first call shows the bar.
    pub(crate) fn set_bytes(&self, done: u64, total: u64) {
        if self.bar.is_hidden() {
            self.show_bytes(total);
        }
        self.bar.set_position(done);
    }

    /// Hides the bar.
    pub(crate) fn hide(&self) {
        self.bar.finish_and_clear();
    }

    /// Requests and bytes since the bar was created.
    pub(crate) fn traffic(&self) -> TrafficCounts {
        let now = self.traffic.counts();
        TrafficCounts {
            requests: now.requests - self.before.requests,
            retries: now.retries - self.before.retries,
            bytes: now.bytes - self.before.bytes,
        }
    }
}
