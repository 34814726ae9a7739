//! Where a group becomes durable before it is answered.

use slatedb::config::{FlushOptions, FlushType, WriteOptions};
use slatedb::{Db, WriteBatch};

use crate::Refusal;

/// The write-ahead log of an open database.
pub(super) enum Journal {
    /// SlateDB's own: an object for each group.
    Store,
}

impl Journal {
    /// Makes sure that a group of so many rows and bytes can be written, or says why not. Nothing is written.
    pub(super) async fn make_room(&self, _rows: usize, _bytes: usize) -> Result<(), Refusal> {
        Ok(())
    }

    /// Writes `batch` and returns once it is durable and readable.
    pub(super) async fn write(&self, db: &Db, batch: WriteBatch) -> Result<(), slatedb::Error> {
        let handle = db
            .write_with_options(batch, &WriteOptions::default())
            .await?;
        match self {
            Self::Store => {
                db.flush_with_options(FlushOptions {
                    flush_type: FlushType::Wal,
                })
                .await?;
            }
        }
        handle.await_durable().await
    }

    /// Bytes that a start would have to read.
    pub(super) fn live_bytes(&self) -> u64 {
        0
    }
}
