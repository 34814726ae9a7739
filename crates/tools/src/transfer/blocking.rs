//! Runs file I/O outside the runtime's threads.

use super::TransferError;
use tokio::task::{JoinError, JoinSet};

/// Runs blocking work to its end, even if the future is dropped.
///
/// # Errors
/// The errors of the work; [`TransferError::ShuttingDown`].
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransferError> + Send + 'static,
) -> Result<T, TransferError> {
    let mut task = JoinSet::new();
    task.spawn_blocking(work);
    ended(&mut task).await
}

/// The result of the only task of a set.
pub(super) async fn ended<T: 'static>(
    task: &mut JoinSet<Result<T, TransferError>>,
) -> Result<T, TransferError> {
    match task.join_next().await {
        Some(ended) => joined(ended),
        None => Err(TransferError::ShuttingDown),
    }
}

/// The result of a task. If it panicked, so does the caller.
pub(super) fn joined<T>(
    ended: Result<Result<T, TransferError>, JoinError>,
) -> Result<T, TransferError> {
    match ended {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(TransferError::ShuttingDown),
    }
}
