//! `partita status --watch`: a live screen on a terminal, one sample after the other elsewhere.

mod app;
mod draw;
mod history;
mod terminal;

use super::{PERIOD, Sample};
use crate::output::{Format, OutputArgs};
use crate::prelude::*;
use crate::screen;
use crate::signals::stop_requested;
use app::App;
use history::ServerHistory;
use partita_tools::admin::{AdminError, AdminPort};
use std::pin::pin;
use std::time::Duration;
use terminal::LiveTerminal;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// How often pressed keys are read.
const KEYS_PERIOD: Duration = Duration::from_millis(50);
/// Maximum number of partitions in the list.
const HOT_MAX: u16 = 50;

/// Takes a sample each second until a signal, or until the user quits.
pub(super) async fn watch(args: OutputArgs, port: &AdminPort) -> CommandResult {
    if args.format() == Format::Table && screen::size().is_some() {
        return live(port).await;
    }
    let mut stop = pin!(stop_requested());
    let mut seconds = interval(PERIOD);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before: Option<Sample> = None;
    loop {
        let sample = async {
            seconds.tick().await;
            Sample::take(port, super::HOT_MAX).await
        };
        let sample = tokio::select! {
            biased;
            () = &mut stop => return Ok(Outcome::Done),
            sample = sample => sample?,
        };
        sample.print(args, port, before.as_ref())?;
        before = Some(sample);
    }
}

/// Shows the screen until the user quits, or a signal. An error of the server is shown, and the screen continues,
/// because the server may be restarting.
async fn live(port: &AdminPort) -> CommandResult {
    let mut stop = pin!(stop_requested());
    let mut keys = interval(KEYS_PERIOD);
    keys.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut terminal = LiveTerminal::enter()?;
    let mut app = App::new(port);
    let mut next = Box::pin(update(port, Instant::now(), true));
    terminal.draw(|frame| draw::draw(frame, &app))?;
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            _ = keys.tick() => {
                let events = LiveTerminal::events()?;
                if events.is_empty() {
                    continue;
                }
                if events.into_iter().any(|event| app.has_quit(&event)) {
                    break;
                }
            }
            taken = &mut next => {
                app.update(taken);
                let at = Instant::now() + PERIOD;
                next = Box::pin(update(port, at, app.needs_history()));
            }
        }
        terminal.draw(|frame| draw::draw(frame, &app))?;
    }
    Ok(Outcome::Done)
}

/// What one refresh of the screen asks the server.
struct Update {
    sample: Sample,
    /// `None` if it was not due, or while the server opens its data.
    history: Option<ServerHistory>,
}

async fn update(port: &AdminPort, at: Instant, with_history: bool) -> Result<Update, AdminError> {
    sleep_until(at).await;
    let sample = Sample::take(port, HOT_MAX).await?;
    let history = match with_history {
        true => super::if_open(ServerHistory::take(port).await)?,
        false => None,
    };
    Ok(Update { sample, history })
}
