//! Logging: sends `tracing` events to stderr and to the debug file.
//!
//! - stderr gets events of Partita's crates at the configured level, and warnings of libraries: plain text, or one JSON
//!   object per line.
//! - The file of `--debug` gets events of Partita's crates at level debug, among them one for each request
//!   ([`REQUESTS`]).
//!
//! Promises: no request waits for the reader of stderr; a panic is logged like any event. The callers choose what to
//! log: request ids, names, sizes, codes and strings to sign are allowed; keys, signatures and entity values are not.

mod console;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::{File, OpenOptions};
use std::io::IsTerminal as _;
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::config::{Log, LogFormat};

pub use console::Writing;

/// The target of events about single requests, at level debug: one for each answer, and one with the expected string to
/// sign when a signature is wrong.
pub const REQUESTS: &str = "partita::request";

/// Prefix of the targets of Partita's crates.
const OURS: &str = "partita";

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file of `--debug` cannot be opened.
    #[error("cannot open the debug file {} (--debug)", path.display())]
    DebugFile {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The thread that writes to stderr cannot be started.
    #[error("cannot start the thread that writes the log")]
    Thread(#[source] std::io::Error),
    /// Logging is running already in this process.
    #[error("logging was started twice in one process")]
    StartedBefore,
}

/// Starts logging for the whole process. Keep the returned guard until the process ends: dropping it writes the last
/// lines.
///
/// # Errors
/// The debug file cannot be opened, no thread can be started, or this is not the first call.
pub fn start(log: &Log) -> Result<Writing, Error> {
    let debug_file = match &log.debug_file {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            Some(file.map_err(|source| Error::DebugFile {
                path: path.clone(),
                source,
            })?)
        }
        None => None,
    };
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (console, writing) = console::start(std::io::stderr()).map_err(Error::Thread)?;
    let subscriber = subscriber(log, colours, console, debug_file);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Error::StartedBefore)?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(writing)
}

/// Logs a panic, which is a broken invariant: it ends its task, and the server continues.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    tracing::error!(
        location = panic.location().map(tracing::field::display),
        thread = std::thread::current().name(),
        backtrace = (backtrace.status() == BacktraceStatus::Captured)
            .then(|| tracing::field::display(&backtrace)),
        reason = panic.payload_as_str(),
        "panicked"
    );
}

fn subscriber<W>(
    log: &Log,
    colours: bool,
    console: W,
    debug_file: Option<File>,
) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = LevelFilter::from_level(log.level);
    let console = lines(log.format, colours, console).with_filter(
        Targets::new()
            .with_default(level.min(LevelFilter::WARN))
            .with_target(OURS, level),
    );
    let file = debug_file.map(|file| {
        // Not buffered, so that no line is lost in a crash.
        lines(log.format, false, Mutex::new(file))
            .with_filter(Targets::new().with_target(OURS, log.level.max(Level::DEBUG)))
    });
    Registry::default().with(console).with(file)
}

fn lines<S, W>(format: LogFormat, colours: bool, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(colours);
    match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .boxed(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Console(Arc<Mutex<Vec<u8>>>);

    impl Write for Console {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The contents of console and debug file after one event of each kind.
    fn logged(level: Level, format: LogFormat) -> (String, String) {
        let console = Console::default();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("debug.log");
        let log = Log {
            level,
            format,
            debug_file: Some(path.clone()),
        };
        let writer = console.clone();
        let file = File::create(&path).unwrap();
        let subscriber = subscriber(&log, false, move || writer.clone(), Some(file));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(port = 7, "listening");
            tracing::debug!(target: REQUESTS, status = 200, "answered");
            tracing::info!(target: "slatedb::db", "library talk");
            tracing::warn!(target: "slatedb::db", "library warning");
        });
        let console = String::from_utf8(console.0.lock().unwrap().clone()).unwrap();
        (console, std::fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn the_console_respects_its_level_and_the_file_has_every_request() {
        let (console, file) = logged(Level::INFO, LogFormat::Text);
        assert!(
            console.contains("listening port=7") && console.contains("library warning"),
            "{console}"
        );
        assert!(
            !console.contains("answered") && !console.contains("library talk"),
            "{console}"
        );
        assert!(
            file.contains("partita::request: answered status=200"),
            "{file}"
        );
        assert!(!file.contains("library"), "{file}");

        let (console, file) = logged(Level::ERROR, LogFormat::Text);
        assert_eq!(console, "");
        assert!(
            file.contains("answered") && file.contains("listening"),
            "{file}"
        );
    }

    #[test]
    fn a_panic_is_an_event() {
        let console = Console::default();
        let log = Log {
            level: Level::ERROR,
            format: LogFormat::Json,
            debug_file: None,
        };
        let writer = console.clone();
        let subscriber = subscriber(&log, false, move || writer.clone(), None);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(log_panic));
        tracing::subscriber::with_default(subscriber, || {
            std::panic::catch_unwind(|| panic!("planted {}", 7)).unwrap_err();
        });
        std::panic::set_hook(before);
        let line = console.0.lock().unwrap().clone();
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(
            (&line["message"], &line["level"]),
            (&"panicked".into(), &"ERROR".into())
        );
        assert_eq!(line["reason"], "planted 7");
        assert!(
            line["location"]
                .as_str()
                .unwrap()
                .contains("logging/mod.rs:"),
            "{line}"
        );
    }

    #[test]
    fn json_lines_are_objects() {
        let (console, _) = logged(Level::DEBUG, LogFormat::Json);
        let lines: Vec<serde_json::Value> = console
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3, "{console}");
        assert_eq!(
            (&lines[0]["message"], &lines[0]["port"]),
            (&"listening".into(), &7.into())
        );
        assert_eq!(lines[1]["status"], 200);
    }
}
