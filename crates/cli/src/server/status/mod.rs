//! `partita status`: health and load of a server; with `--watch` a live screen.

mod endpoint;
mod page;
mod watch;

use super::hot;
use crate::args::admin_port::flag_for;
use crate::command::{AdminPortCommand, CommandError, CommandResult, Outcome, Progress};
use crate::output::{self, Field, Format, OutputArgs, Shape};
use crate::screen;
use page::StatusPage;
use partita_client::ValueRef;
use partita_tools::admin::{AdminError, AdminPort, Page};
use partita_wire::admin::{Hot, Ranges, ServerState, Status};
use std::time::{Duration, Instant};

/// Time between two refreshes.
const PERIOD: Duration = Duration::from_secs(1);
/// Maximum number of hot partitions in the text.
const HOT_MAX: u16 = 5;

/// Show a server's health, load and latency, the changes of its ranges, and keys over their targets
#[derive(clap::Args)]
#[command(
    after_help = "Exit code 0: healthy. 1: the server answers and is not healthy. 2: no server answers."
)]
pub(crate) struct StatusCommand {
    /// Live screen with the last ten minutes, ranges and hottest partitions, until q; in a pipe, a line each second
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl AdminPortCommand for StatusCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        if self.watch {
            return watch::watch(self.output, &port).await;
        }
        let mut sample = Sample::take(&port, HOT_MAX).await?;
        if self.output.format() == Format::Table {
            sample.tables = match &sample.status.document.listening.table {
                Some(url) => Some(endpoint::ask(url, &port.to_string()).await),
                None => None,
            };
        }
        sample.print(self.output, &port, None)?;
        let state = &sample.status.document.state;
        let outcome = match state {
            ServerState::Ready => Outcome::Done,
            _ => Outcome::NothingFound,
        };
        progress.finish(state.as_str(), outcome)
    }
}

/// Status, ranges and hottest partitions of a server at one time.
struct Sample {
    at: Instant,
    status: Page<Status>,
    /// `None` until the data is open.
    ranges: Option<Page<Ranges>>,
    hot: Option<Page<Hot>>,
    /// What the table endpoint answers; `None` if it was not asked. `--watch` does not ask it, because each request
    /// would count as an error of the server's clients.
    tables: Option<String>,
}

impl Sample {
    async fn take(port: &AdminPort, hot_max: u16) -> Result<Self, AdminError> {
        let status = port.status().await?;
        let at = Instant::now();
        Ok(Self {
            at,
            status,
            ranges: if_open(port.ranges().await)?,
            hot: if_open(port.hot(hot_max).await)?,
            tables: None,
        })
    }

    /// Requests a second since an earlier sample; `None` without one, or after a restart of the server.
    fn rate_since(&self, before: Option<&Self>) -> Option<f64> {
        let before = before?;
        let total = |sample: &Self| sample.status.document.requests.total;
        let requests = total(self).checked_sub(total(before))?;
        let seconds = (self.at - before.at).as_secs_f64();
        (seconds > 0.0).then(|| requests as f64 / seconds)
    }

    /// The text of a [`StatusPage`], as wide as the terminal.
    fn text(&self, port: &AdminPort, before: Option<&Self>) -> String {
        let page = StatusPage {
            admin: port.to_string(),
            admin_flag: flag_for(port),
            status: &self.status.document,
            ranges: self.ranges.as_ref().map(|page| &page.document),
            hot: self.hot.as_ref().map(|page| &page.document),
            rate_now: self.rate_since(before),
            tables: self.tables.as_deref(),
            width: screen::size().map_or(80, |(columns, _)| columns),
        };
        page.text()
    }

    fn print(
        &self,
        args: OutputArgs,
        port: &AdminPort,
        before: Option<&Self>,
    ) -> Result<(), CommandError> {
        match args.format() {
            Format::Json => output::print(&self.document()),
            Format::Jsonl => output::print(&output::one_line(&self.document())),
            Format::Table => output::print(&self.text(port, before)),
            Format::Csv => self.write_record(args, before),
        }
    }

    /// The answers of the admin port in one document.
    fn document(&self) -> String {
        format!(
            "{{\"status\": {},\n\"ranges\": {},\n\"hot\": {}}}",
            self.status.text.trim(),
            text(self.ranges.as_ref()),
            text(self.hot.as_ref())
        )
    }

    /// The most important numbers in one row.
    fn write_record(&self, args: OutputArgs, before: Option<&Self>) -> Result<(), CommandError> {
        let status = &self.status.document;
        let load = status.load.clone().unwrap_or_default();
        let ranges = status.ranges.clone().unwrap_or_default();
        let reasons = status.reasons.join("; ");
        let rate = self.rate_since(before).unwrap_or(load.requests_per_second);
        let in_flight = ValueRef::Int64(status.requests.in_flight);
        args.write(Shape::Single, |output| {
            output.record(&[
                ("state", Field::text(status.state.as_str())),
                ("reasons", Field::text(&reasons)),
                ("uptime_seconds", Field::tenths(status.uptime_seconds)),
                ("requests_per_second", Field::tenths(rate)),
                (
                    "throttled_per_second",
                    Field::tenths(load.throttled_per_second),
                ),
                ("p50_us", Field::Latency(load.latency.p50_us)),
                ("p99_us", Field::Latency(load.latency.p99_us)),
                ("in_flight", Field::Plain(in_flight)),
                ("ranges", Field::count(ranges.count)),
                ("rewriting", Field::count(ranges.rewriting)),
                ("no_split_key", Field::count(ranges.no_split_key)),
            ])
        })
    }
}

/// An answer of the admin API; `None` while the server is still opening its data.
fn if_open<T>(page: Result<T, AdminError>) -> Result<Option<T>, AdminError> {
    match page {
        Err(AdminError::Refused { status: 503, .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn text<T>(page: Option<&Page<T>>) -> &str {
    page.map_or("null", |page| page.text.trim())
}

#[cfg(test)]
pub(super) mod tests {
    use super::Page;
    use serde::de::DeserializeOwned;

    /// A page of the admin API.
    pub(in crate::server) fn page_of<T: DeserializeOwned>(json: &str) -> Page<T> {
        Page {
            text: json.to_owned(),
            document: serde_json::from_str(json).unwrap(),
        }
    }
}
