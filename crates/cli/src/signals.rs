//! Requests to stop: Ctrl-C, and SIGTERM where the system has it.

use std::io;

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
