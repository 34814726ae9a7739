//! Work on files, away from the threads of the runtime.

use super::TransferError;
use tokio::task::{JoinError, JoinSet};

/// Does work that blocks, to its end even if nobody waits for it any more.
///
/// # Errors
/// Those of the work; [`TransferError::ShuttingDown`].
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransferError> + Send + 'static,
) -> Result<T, TransferError> {
    let mut task = JoinSet::new();
    task.spawn_blocking(work);
    match task.join_next().await {
        Some(ended) => joined(ended),
        None => Err(TransferError::ShuttingDown),
    }
}

/// What a task has come to. A panic in it goes on in whoever waits for it.
pub(super) fn joined<T>(
    ended: Result<Result<T, TransferError>, JoinError>,
) -> Result<T, TransferError> {
    match ended {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(TransferError::ShuttingDown),
    }
}
