//! Waits for requests to stop: Ctrl-C, and SIGTERM on Unix.

use crate::error::CommandError;
use std::io;
use std::pin::pin;

/// Receives requests to stop. A request between the creation and [`StopSignals::next`] is not lost.
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl StopSignals {
    #[cfg(unix)]
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next request to stop.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // The system reports no signals: wait forever.
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for a request to stop; forever if the system cannot report signals.
pub(crate) async fn stop_requested() {
    match StopSignals::listen() {
        Ok(mut signals) => signals.next().await,
        Err(_) => std::future::pending().await,
    }
}

/// The output of `work`, or [`CommandError::Interrupted`] if the request to stop comes first.
pub(crate) async fn interruptible<T>(
    stop: &mut (impl Future<Output = ()> + Unpin),
    work: impl Future<Output = T>,
) -> Result<T, CommandError> {
    tokio::select! {
        biased;
        () = stop => Err(CommandError::Interrupted),
        done = work => Ok(done),
    }
}

/// The output of `work`. The first request to stop calls `stop`, which should end the work. The second one drops the
/// work; the result is then `None`.
pub(crate) async fn stoppable<T>(work: impl Future<Output = T>, stop: impl FnOnce()) -> Option<T> {
    let mut work = pin!(work);
    let done = interruptible(&mut pin!(stop_requested()), &mut work).await;
    if let Ok(done) = done {
        return Some(done);
    }
    stop();
    interruptible(&mut pin!(stop_requested()), work).await.ok()
}
