//! Copies a table to another table, also on another account, server or cloud.

use super::observer::{Counts, Observer};
use super::rows::TableReader;
use super::state::{Checkpoint, JOB_FROM};
use super::upload::{Chunk, Chunks, upload};
use super::{TransferError, WriteOptions};
use crate::scan::{Order, PageSource, ResumeToken, Scan};
use partita_client::{Entity, TableClient};
use std::sync::Arc;

/// Writes all rows of a table to another table. Rows that only the other table has are kept. If the future is dropped,
/// the copy stops as if it had been killed.
///
/// # Errors
/// [`TransferError`].
pub async fn copy<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    to: &TableClient,
    options: &WriteOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let job = serde_json::json!({
        "verb": "copy",
        (JOB_FROM): from.source(),
        "to": { "endpoint": to.endpoint().to_string(), "table": to.name() },
        "mode": options.mode,
    });
    let mut begun = Checkpoint::<String>::begin(options, job, observer).await?;
    let token = begun.mark.take().map(|text| text.parse::<ResumeToken>());
    let scan = from.scan(Order::Any, token.transpose()?)?;
    upload(to, options, begun, observer, |reading, chunks| {
        reading.spawn(read(scan, chunks));
    })
    .await
}

/// Reads all rows and sends them as chunks, unless the channel is closed before the end.
async fn read<S: PageSource<Row = Entity>>(
    mut scan: Scan<S>,
    chunks: Chunks<String>,
) -> Result<(), TransferError> {
    while let Some(batch) = scan.next().await {
        let chunk = match batch {
            Ok(batch) => Ok(Chunk {
                rows: batch.rows,
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
