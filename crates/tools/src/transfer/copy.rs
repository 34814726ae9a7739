//! A table to a table: across accounts, servers, clouds.

use super::TransferError;
use super::WriteOptions;
use super::blocking::joined;
use super::observer::{Counts, Observer};
use super::rows::{IntoEntity, TableReader};
use super::state::Checkpoint;
use super::upload::{CHUNKS_WAITING, Chunk, Upload};
use crate::scan::{Order, PageSource, ResumeToken, Scan};
use partita_client::TableClient;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How rows are copied.
pub type CopyOptions = WriteOptions;

/// Writes all rows of a table to another one. Rows that the other one has besides stay. If the future is dropped, the copy stops as
/// if it had been killed.
///
/// # Errors
/// [`TransferError`].
pub async fn copy<S: PageSource>(
    from: &TableReader<S>,
    to: &TableClient,
    options: &CopyOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError>
where
    S::Row: IntoEntity,
{
    let job = serde_json::json!({
        "verb": "copy",
        "from": from.source(),
        "to": { "endpoint": to.endpoint().to_string(), "table": to.name() },
        "mode": options.mode,
    });
    let begun = Checkpoint::<String>::begin(options, job, observer).await?;
    let begun = begun.unless(options.prepare(to).await).await?;
    let token = begun.mark.map(|text| text.parse::<ResumeToken>());
    let scan = from.scan(Order::Any, token.transpose()?)?;
    let (chunks, taken) = mpsc::channel(CHUNKS_WAITING);
    let mut reading = JoinSet::new();
    reading.spawn(read(scan, chunks));
    let load = Upload::new(to, options, begun.checkpoint, begun.is_resumed, observer);
    let counts = load.run(taken).await?;
    match reading.join_next().await {
        Some(ended) => joined(ended).map(|()| counts),
        None => Err(TransferError::ShuttingDown),
    }
}

/// Reads all rows; ends when nobody takes them any more.
async fn read<S: PageSource>(
    mut scan: Scan<S>,
    chunks: mpsc::Sender<Result<Chunk<String>, TransferError>>,
) -> Result<(), TransferError>
where
    S::Row: IntoEntity,
{
    while let Some(batch) = scan.next().await {
        let chunk = match batch {
            Ok(batch) => Ok(Chunk {
                rows: batch
                    .rows
                    .into_iter()
                    .map(IntoEntity::into_entity)
                    .collect(),
                mark: scan.token().to_string(),
            }),
            Err(error) => Err(error.into()),
        };
        let is_failure = chunk.is_err();
        if chunks.send(chunk).await.is_err() || is_failure {
            break;
        }
    }
    Ok(())
}
