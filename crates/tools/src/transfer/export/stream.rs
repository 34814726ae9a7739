//! Exports rows to a stream, such as stdout.

use crate::formats::{EntityWriter, Format, Schema, Style};
use crate::scan::{Order, PageSource};
use crate::transfer::TransferError;
use crate::transfer::blocking::blocking;
use crate::transfer::observer::{Counts, Event, Observer};
use crate::transfer::rows::TableReader;
use partita_bulk::entity_bytes;
use partita_client::Entity;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Writes all rows to a stream in the table's order, page by page. Errors contain `name` as the path. The export cannot
/// be resumed. A format with columns writes the given columns; a row that needs another column is an error.
///
/// # Errors
/// [`TransferError`].
pub async fn export_stream<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    out: impl Write + Send + 'static,
    name: &Path,
    (format, style, columns): (Format, Style, &Schema),
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let mut scan = from.scan(Order::Table, None)?;
    let writer = EntityWriter::styled((format, style), columns, out);
    let mut writer = writer.map_err(TransferError::rows(name))?;
    let mut counts = Counts {
        writes: 1,
        ..Counts::default()
    };
    while let Some(batch) = scan.next().await {
        let rows = batch?.rows;
        let (read, bytes) = (rows.len() as u64, rows.iter().map(entity_bytes).sum());
        observer.event(&Event::Read { rows: read, bytes });
        let path = name.to_owned();
        // If the stream's reader is slow, the write blocks, so it must not run on a thread of the runtime.
        writer = blocking(move || {
            let written = rows.iter().try_for_each(|row| writer.write(row));
            written.map_err(TransferError::rows(&path)).map(|()| writer)
        })
        .await?;
        observer.event(&Event::Written { rows: read, bytes });
        counts.rows_read += read;
        counts.rows_written += read;
        counts.bytes += bytes;
        if observer.is_stopped() {
            return Err(TransferError::Stopped);
        }
    }
    let path = name.to_owned();
    let flushed = blocking(move || {
        let finished = writer.finish();
        let mut out = finished.map_err(TransferError::rows(&path))?;
        io::Write::flush(&mut out).map_err(TransferError::io(&path))
    });
    flushed.await.map(|()| counts)
}
