//! `partita status`: how a server stands, on one screen; with `--watch` again each second.

mod page;

use super::{Asking, hot, number, tenths};
use crate::error::{End, Failure};
use crate::output::{self, Form, Output, Shape, Shown};
use crate::scan_session::signal;
use crate::screen::{self, Screen};
use clap::{Arg, ArgAction, ArgMatches, Command};
use page::Page;
use partita_client::ValueRef;
use partita_tools::admin::{AdminError, AdminPort, Answer, Hot, Ranges, Status};
use std::time::{Duration, Instant};

/// From one look to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// Hot partitions that are shown.
const HOT_SHOWN: usize = 5;

pub(crate) fn command() -> Command {
    Command::new("status")
        .about("Show how a server stands: healthy or not and why, load, latency, what is moving, who is limited")
        .arg(
            Arg::new("watch")
                .long("watch")
                .short('w')
                .action(ArgAction::SetTrue)
                .help("Look again each second, until Ctrl-C"),
        )
        .after_help("Exit code 0: healthy. 1: the server answers and is not. 2: nobody answers.")
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let Asking { port, talk } = Asking::of(matches)?;
    if matches.get_flag("watch") {
        return watch(matches, &port).await;
    }
    let look = Look::take(&port).await?;
    look.print(matches, &port, None)?;
    talk.end(&look.status.state);
    Ok(look.end())
}

/// What was seen at one time.
struct Look {
    at: Instant,
    /// Status, ranges, hot partitions; the last two as far as there are any.
    answers: [Option<Answer>; 3],
    status: Status,
    /// None until the data is open.
    ranges: Option<Ranges>,
    hot: Option<Hot>,
}

impl Look {
    async fn take(port: &AdminPort) -> Result<Self, AdminError> {
        let answer = port.page("/admin/v1/status").await?;
        let status: Status = answer.read()?;
        let (at, hot) = (Instant::now(), format!("/admin/v1/hot?limit={HOT_SHOWN}"));
        let open = async |path: &str| match port.page(path).await {
            Err(AdminError::Refused { status: 503, .. }) => Ok(None),
            other => other.map(Some),
        };
        let (ranges, hot) = (open("/admin/v1/ranges").await?, open(&hot).await?);
        let read = (
            ranges.as_ref().map(Answer::read).transpose()?,
            hot.as_ref().map(Answer::read).transpose()?,
        );
        Ok(Self {
            at,
            ranges: read.0,
            hot: read.1,
            answers: [Some(answer), ranges, hot],
            status,
        })
    }

    fn end(&self) -> End {
        match self.status.state.as_str() {
            "ready" => End::Done,
            _ => End::NothingFound,
        }
    }

    /// Requests a second since a look before; none without one, or when the server has started anew.
    fn rate_since(&self, before: Option<&Self>) -> Option<f64> {
        let before = before?;
        let requests = self
            .status
            .requests
            .total
            .checked_sub(before.status.requests.total)?;
        let seconds = (self.at - before.at).as_secs_f64();
        (seconds > 0.0).then(|| requests as f64 / seconds)
    }

    fn page<'a>(&'a self, port: &AdminPort, before: Option<&Self>, width: usize) -> Page<'a> {
        Page {
            admin: port.to_string(),
            status: &self.status,
            ranges: self.ranges.as_ref(),
            hot: self.hot.as_ref(),
            rate_now: self.rate_since(before),
            width,
        }
    }

    fn print(
        &self,
        matches: &ArgMatches,
        port: &AdminPort,
        before: Option<&Self>,
    ) -> Result<(), Failure> {
        match Form::of(matches) {
            Form::Json => {
                let [status, ranges, hot] = &self.answers;
                let text = |answer: &Option<Answer>| {
                    answer
                        .as_ref()
                        .map_or_else(|| "null".to_owned(), |answer| answer.text.trim().to_owned())
                };
                output::print(&format!(
                    "{{\"status\": {},\n\"ranges\": {},\n\"hot\": {}}}",
                    text(status),
                    text(ranges),
                    text(hot)
                ))
            }
            Form::Table => {
                let width = screen::size().map_or(80, |(columns, _)| columns);
                output::print(&self.page(port, before, width).text())
            }
            Form::JsonLines | Form::Csv => self.record(matches, before),
        }
    }

    /// The figures in one row.
    fn record(&self, matches: &ArgMatches, before: Option<&Self>) -> Result<(), Failure> {
        let Status {
            state,
            load,
            ranges,
            requests,
            uptime_seconds,
            ..
        } = &self.status;
        let (load, ranges) = (
            load.clone().unwrap_or_default(),
            ranges.clone().unwrap_or_default(),
        );
        let reasons = self.status.reasons.join("; ");
        let rate = self.rate_since(before).unwrap_or(load.requests_per_second);
        let mut output = Output::of(matches, Shape::Single, None);
        output.row(&Shown::Record(&[
            ("State", ValueRef::String(state)),
            ("Reasons", ValueRef::String(&reasons)),
            ("UptimeSeconds", ValueRef::Double(tenths(*uptime_seconds))),
            ("RequestsPerSecond", ValueRef::Double(tenths(rate))),
            (
                "ThrottledPerSecond",
                ValueRef::Double(tenths(load.throttled_per_second)),
            ),
            ("P50Us", ValueRef::Double(load.p50_us)),
            ("P99Us", ValueRef::Double(load.p99_us)),
            ("InFlight", number(requests.in_flight)),
            ("Ranges", number(ranges.count)),
            ("Rewriting", number(ranges.rewriting)),
            ("NoSplitKey", number(ranges.no_split_key)),
        ]))?;
        output.end()
    }
}

/// Looks each second until a signal. On a terminal each look takes the place of the one before; elsewhere they follow.
async fn watch(matches: &ArgMatches, port: &AdminPort) -> Result<End, Failure> {
    let mut stop = std::pin::pin!(signal());
    let mut seconds = tokio::time::interval(PERIOD);
    seconds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let is_screen = Form::of(matches) == Form::Table && screen::size().is_some();
    let screen = is_screen
        .then(Screen::enter)
        .transpose()
        .map_err(Failure::Output)?;
    let mut before: Option<Look> = None;
    loop {
        let look = async {
            seconds.tick().await;
            Look::take(port).await
        };
        let look = tokio::select! {
            biased;
            () = &mut stop => return Ok(End::Done),
            look = look => look,
        };
        match (look, &screen) {
            (Ok(look), Some(screen)) => {
                let width = screen::size().map_or(80, |(columns, _)| columns);
                let text = look.page(port, before.as_ref(), width).text();
                screen.show(&text).map_err(Failure::Output)?;
                before = Some(look);
            }
            (Ok(look), None) => {
                look.print(matches, port, before.as_ref())?;
                before = Some(look);
            }
            // A server that is started anew is worth waiting for, if somebody looks at the screen.
            (Err(error), Some(screen)) => {
                let text = format!("{error}\n\ntrying again each second, until Ctrl-C\n");
                screen.show(&text).map_err(Failure::Output)?;
                before = None;
            }
            (Err(error), None) => return Err(error.into()),
        }
    }
}
