//! Writes log lines to stderr from a separate thread, so that no request waits for the reader of stderr.
//!
//! Otherwise a parent process that does not read the server's pipe would block the server as soon as the pipe is full.
//! Bounds: 1,024 lines are queued; more lines are dropped and counted, and the count is logged as soon as there is room
//! again.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

const LINES_MAX: usize = 1024;

/// How long the end of the process waits for the queued lines to be written.
const END_WAIT: Duration = Duration::from_millis(500);

enum Message {
    Line(Vec<u8>),
    End,
}

/// The queue to the writing thread.
#[derive(Debug, Clone)]
pub(super) struct Console {
    lines: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

/// The guard of the writing thread. When dropped, waits briefly until the queued lines are written.
#[derive(Debug)]
#[must_use]
pub struct Writing {
    lines: SyncSender<Message>,
    ended: Receiver<()>,
}

/// Starts the thread, writing to `sink`.
#[allow(
    clippy::disallowed_methods,
    reason = "a simulation collects the log and starts no console"
)]
pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<(Console, Writing)> {
    let (lines, handed_over) = sync_channel(LINES_MAX);
    let (end, ended) = channel();
    let dropped = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&dropped);
    std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || {
            write(sink, &handed_over, &counted);
            // Fails if the guard no longer waits; then no signal is needed.
            let _ = end.send(());
        })?;
    let console = Console {
        lines: lines.clone(),
        dropped,
    };
    Ok((console, Writing { lines, ended }))
}

fn write(mut sink: impl Write, lines: &Receiver<Message>, dropped: &AtomicU64) {
    while let Ok(Message::Line(line)) = lines.recv() {
        // If stderr is closed, there is no other place to report it.
        let _ = sink.write_all(&line);
        let missing = dropped.swap(0, Ordering::Relaxed);
        if missing > 0 {
            let _ = writeln!(
                sink,
                "({missing} log lines were dropped: stderr was not read in time)"
            );
        }
    }
    let _ = sink.flush();
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.lines.try_send(Message::End).is_ok() {
            match self.ended.recv_timeout(END_WAIT) {
                // Written, closed, or blocked by a reader: the process ends in any case.
                Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}

/// One line on its way, as the formatter hands it over: whole, in one write.
pub(super) struct Line<'a>(&'a Console);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.lines.try_send(Message::Line(bytes.to_vec())) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.0.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Console {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A sink that accepts one write for each permission, and keeps the bytes.
    struct Slow {
        allowed: Receiver<()>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // When the sender of permissions is dropped, every write is accepted.
            let _ = self.allowed.recv();
            self.taken.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_reader_blocks_no_writer() {
        let (allow, allowed) = channel();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (console, writing) = start(Slow {
            allowed,
            taken: Arc::clone(&taken),
        })
        .unwrap();
        for number in 0..3 * LINES_MAX {
            let line = format!("{number}\n");
            console.make_writer().write_all(line.as_bytes()).unwrap();
        }
        drop(allow);
        // The queue is full, so the end has to wait for the writer to make room for it.
        while console.lines.try_send(Message::End).is_err() {
            std::thread::yield_now();
        }
        writing.ended.recv().unwrap();
        let text = String::from_utf8(taken.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("0\n"), "{text}");
        assert!(text.contains("log lines were dropped"), "{text}");
        assert!(
            text.lines().count() <= LINES_MAX + 3,
            "{}",
            text.lines().count()
        );
    }

    #[test]
    fn queued_lines_are_written_before_the_end() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (allow, allowed) = channel();
        drop(allow);
        let (console, writing) = start(Slow {
            allowed,
            taken: Arc::clone(&taken),
        })
        .unwrap();
        console.make_writer().write_all(b"last words\n").unwrap();
        drop(writing);
        assert_eq!(taken.lock().unwrap().as_slice(), b"last words\n");
    }
}
