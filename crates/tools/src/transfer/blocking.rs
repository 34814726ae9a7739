//! Runs file I/O on threads for blocking work, so that it does not block async tasks.

use super::TransferError;
use tokio::task::{JoinError, JoinSet};

/// Runs blocking work and waits for its result. The work runs to its end, even if the future is dropped.
///
/// # Errors
/// The errors of the work, and [`TransferError::ShuttingDown`].
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransferError> + Send + 'static,
) -> Result<T, TransferError> {
    let mut task = JoinSet::new();
    task.spawn_blocking(work);
    ended(&mut task).await
}

/// Waits for the only task of a set, and returns its result.
pub(super) async fn ended<T: 'static>(
    task: &mut JoinSet<Result<T, TransferError>>,
) -> Result<T, TransferError> {
    match task.join_next().await {
        Some(ended) => joined(ended),
        None => Err(TransferError::ShuttingDown),
    }
}

/// The result of a task. If the task panicked, continues the panic.
pub(super) fn joined<T>(
    ended: Result<Result<T, TransferError>, JoinError>,
) -> Result<T, TransferError> {
    match ended {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(TransferError::ShuttingDown),
    }
}
