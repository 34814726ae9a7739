//! `partita status`: health and load of a server on one screen; with `--watch` refreshed each second.

mod page;

use super::hot;
use crate::command::{AdminPortCommand, CommandError, CommandResult, Outcome, Progress};
use crate::output::{self, Field, Format, OutputArgs, Shape};
use crate::screen::{self, Screen};
use crate::signals::stop_requested;
use page::StatusPage;
use partita_client::ValueRef;
use partita_tools::admin::{AdminError, AdminPort, Page};
use partita_wire::admin::{Hot, Ranges, ServerState, Status};
use std::time::{Duration, Instant};

/// Time between two refreshes.
const PERIOD: Duration = Duration::from_secs(1);
/// Maximum number of hot partitions on the screen.
const HOT_MAX: u16 = 5;

/// Show a server's health, load and latency, the changes of its ranges, and keys over their targets
#[derive(clap::Args)]
#[command(
    after_help = "Exit code 0: healthy. 1: the server answers and is not healthy. 2: no server answers."
)]
pub(crate) struct StatusCommand {
    /// Refresh each second, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl AdminPortCommand for StatusCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        if self.watch {
            return watch(self.output, &port).await;
        }
        let sample = Sample::take(&port).await?;
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
}

impl Sample {
    async fn take(port: &AdminPort) -> Result<Self, AdminError> {
        let status = port.status().await?;
        let at = Instant::now();
        Ok(Self {
            at,
            status,
            ranges: if_open(port.ranges().await)?,
            hot: if_open(port.hot(HOT_MAX).await)?,
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
            status: &self.status.document,
            ranges: self.ranges.as_ref().map(|page| &page.document),
            hot: self.hot.as_ref().map(|page| &page.document),
            rate_now: self.rate_since(before),
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
            Format::Json => output::print(&format!(
                "{{\"status\": {},\n\"ranges\": {},\n\"hot\": {}}}",
                self.status.text.trim(),
                text(self.ranges.as_ref()),
                text(self.hot.as_ref())
            )),
            Format::Table => output::print(&self.text(port, before)),
            Format::Jsonl | Format::Csv => self.write_record(args, before),
        }
    }

    /// The most important numbers in one row.
    fn write_record(&self, args: OutputArgs, before: Option<&Self>) -> Result<(), CommandError> {
        let status = &self.status.document;
        let load = status.load.clone().unwrap_or_default();
        let ranges = status.ranges.clone().unwrap_or_default();
        let reasons = status.reasons.join("; ");
        let rate = self.rate_since(before).unwrap_or(load.requests_per_second);
        let in_flight = ValueRef::Int64(status.requests.in_flight);
        // Doubles, because the JSON of this field has always had a decimal point.
        let latency = |us: u64| Field::double(us as f64);
        args.write(Shape::Single, |output| {
            output.record(&[
                ("State", Field::text(status.state.as_str())),
                ("Reasons", Field::text(&reasons)),
                ("UptimeSeconds", Field::tenths(status.uptime_seconds)),
                ("RequestsPerSecond", Field::tenths(rate)),
                (
                    "ThrottledPerSecond",
                    Field::tenths(load.throttled_per_second),
                ),
                ("P50Us", latency(load.latency.p50_us)),
                ("P99Us", latency(load.latency.p99_us)),
                ("InFlight", Field::Plain(in_flight)),
                ("Ranges", Field::count(ranges.count)),
                ("Rewriting", Field::count(ranges.rewriting)),
                ("NoSplitKey", Field::count(ranges.no_split_key)),
            ])
        })
    }
}

/// A page of the admin API; `None` while the server is still opening its data.
fn if_open<T>(page: Result<Page<T>, AdminError>) -> Result<Option<Page<T>>, AdminError> {
    match page {
        Err(AdminError::Refused { status: 503, .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn text<T>(page: Option<&Page<T>>) -> &str {
    page.map_or("null", |page| page.text.trim())
}

/// Takes a sample each second until a signal. On a terminal, each sample replaces the last one; otherwise the samples
/// are printed one after the other.
async fn watch(args: OutputArgs, port: &AdminPort) -> CommandResult {
    let mut stop = std::pin::pin!(stop_requested());
    let mut seconds = tokio::time::interval(PERIOD);
    seconds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let has_screen = args.format() == Format::Table && screen::size().is_some();
    let screen = Screen::enter_if(has_screen)?;
    let mut before: Option<Sample> = None;
    loop {
        let sample = async {
            seconds.tick().await;
            Sample::take(port).await
        };
        let sample = tokio::select! {
            biased;
            () = &mut stop => return Ok(Outcome::Done),
            sample = sample => sample,
        };
        match (sample, &screen) {
            (Ok(sample), screen) => {
                match screen {
                    Some(screen) => {
                        let text = sample.text(port, before.as_ref());
                        screen.show(&text)?;
                    }
                    None => sample.print(args, port, before.as_ref())?,
                }
                before = Some(sample);
            }
            // The screen shows the error and the loop continues, because the server may be restarting.
            (Err(error), Some(screen)) => {
                let text = format!("{error}\n\nretrying each second, until Ctrl-C\n");
                screen.show(&text)?;
                before = None;
            }
            (Err(error), None) => return Err(error.into()),
        }
    }
}
