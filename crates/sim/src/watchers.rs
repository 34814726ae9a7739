//! Detects faults that no client sees: panics of the server's tasks, and errors in its log.

use std::io;
use std::panic;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::ensure;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt};

use crate::trace::Trace;

/// The first few faults of this process.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The maximum number of faults in `SEEN`.
const SEEN_MAX: usize = 5;

/// From now on, writes the warnings of the server and of SlateDB to the trace, and collects panics and, if
/// `errors_are_faults`, errors.
pub(crate) fn watch(trace: &Trace, errors_are_faults: bool) {
    let trace = trace.clone();
    let lines = fmt::layer()
        .without_time()
        .with_ansi(false)
        .with_writer(move || Lines {
            trace: trace.clone(),
            text: Vec::new(),
        });
    let shown = Targets::new()
        .with_default(Level::WARN)
        .with_target("partita", Level::INFO);
    // Fails only in a second simulation of the process, and `mad_turmoil::rand::set_rng` refuses that earlier.
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(shown))
        .with(Errors.with_filter(match errors_are_faults {
            true => LevelFilter::ERROR,
            false => LevelFilter::OFF,
        }))
        .try_init();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        see(panicked.to_string());
        usual(panicked);
    }));
}

/// Checks that there were no faults.
///
/// # Errors
/// The first few faults.
pub(crate) fn check() -> anyhow::Result<()> {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    ensure!(
        seen.is_empty(),
        "the server panicked or logged errors: {}",
        seen.join("; ")
    );
    Ok(())
}

fn see(fault: String) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < SEEN_MAX {
        seen.push(fault);
    }
}

/// Collects a line of the log for the trace.
struct Lines {
    trace: Trace,
    text: Vec<u8>,
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.trace
            .note("log", String::from_utf8_lossy(&self.text).trim_end());
    }
}

/// Collects each event as a fault. The filter in [`watch`] passes only errors, so that spans and other events cost
/// nothing.
struct Errors;

impl<S: Subscriber> Layer<S> for Errors {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let place = event.metadata();
        see(format!(
            "an error at {}:{}",
            place.file().unwrap_or_default(),
            place.line().unwrap_or_default()
        ));
    }
}
