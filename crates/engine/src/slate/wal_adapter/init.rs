//! Opens a database with the WAL: checks the WAL, and replays the records that are not in the database's files.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use partita_wal::{Record, Wal, WalId};
use slatedb::RowEntry;
use slatedb::wal::{WalError, WalIterator, WalRows, WriterInit, WriterInitResult, WriterManifest};

use super::group_barrier::GroupBarrier;
use super::rows;
use super::writer::RangeWriter;
use crate::RangeId;
use crate::slate::read::Reader;
use crate::slate::store_clock::StoreClock;

/// Bytes of rows in one step of a replay.
const REPLAY_BYTES: usize = 1 << 20;

/// Gives SlateDB the writer of a database and the WAL records to replay.
pub(super) struct RangeInit {
    pub(super) wal: Arc<dyn Wal>,
    pub(super) barrier: Arc<GroupBarrier>,
    pub(super) range: RangeId,
    /// Whether this process has already opened or cloned the range's database.
    pub(super) is_known: bool,
    /// The records of a range that is taken over from another process; `None` for those that the WAL has recovered.
    pub(super) taken_over: Option<VecDeque<Record>>,
    /// Notes what the replay reads.
    pub(super) notes: ReplayNotes,
}

/// What a replay notes about the rows that it reads.
#[derive(Clone)]
pub(in crate::slate) struct ReplayNotes {
    /// The clock of the database, which the replay moves past the times of the rows.
    pub(in crate::slate) clock: Arc<StoreClock>,
    /// The number of deletions, which are in memory after the replay.
    pub(in crate::slate) deletes: Arc<AtomicU64>,
    /// What reads the rows, now and when further rows are durable; `None` if SlateDB reads them.
    pub(in crate::slate) reader: Option<Arc<Reader>>,
}

impl ReplayNotes {
    fn note(&self, rows: &[RowEntry], last: WalId) {
        if let Some(reader) = &self.reader {
            reader.add(rows, last);
        }
        if let Some(newest) = rows.iter().filter_map(|row| row.create_ts).max() {
            self.clock.pass(newest);
        }
        let deletes = rows.iter().filter(|row| row.value.is_tombstone());
        let deletes = deletes.count() as u64;
        self.deletes.fetch_add(deletes, Ordering::Relaxed);
    }
}

impl RangeInit {
    /// The records that are not in the store's files, checked to have no gap.
    fn unflushed(&self, flushed: WalId) -> Result<VecDeque<Record>, WalError> {
        let mut records = match &self.taken_over {
            Some(records) => records.clone(),
            None => self.wal.take_recovered(self.range),
        };
        records.retain(|record| record.header.wal_id > flushed);
        let mut last = flushed;
        for record in &records {
            if record.header.wal_id.0 != last.0 + 1 {
                return Err(data_error(self.missing()));
            }
            last = record.header.wal_id;
        }
        // The WAL has rows that were written in this process and not flushed. This opening would not replay them, so it
        // would lose them.
        if self
            .wal
            .last_of(self.range)
            .is_some_and(|there| there > last)
        {
            return Err(data_error("the WAL has records that were not replayed"));
        }
        Ok(records)
    }

    /// What is wrong if a record is missing.
    fn missing(&self) -> &'static str {
        if self.taken_over.is_some() {
            "records are missing: neither the files of the range nor the logs from which it is taken over have them; \
             restore a backup"
        } else {
            "records are missing: neither the WAL nor the store's files have them; restore log/ and store/ from one \
             copy of this data directory, or restore a backup"
        }
    }
}

#[async_trait]
impl WriterInit for RangeInit {
    async fn fence_and_init(
        &self,
        manifest: &mut WriterManifest,
    ) -> Result<WriterInitResult, WalError> {
        // The WAL is created before the databases. If the WAL is new but the database is not, the WAL was lost, and
        // rows with it. The log of a process of a cluster does not count as new.
        if self.wal.is_new() && !self.is_known && manifest.epoch() > 1 {
            return Err(data_error(
                "the WAL is missing: the folder log/ is empty, and may have held acknowledged writes; restore it from a \
                 copy of this data directory, or restore a backup",
            ));
        }
        let flushed = WalId(manifest.replay_after_wal_id());
        let records = self.unflushed(flushed)?;
        let last = records.back().map_or(flushed, |last| last.header.wal_id);
        let writer = RangeWriter::new(
            Arc::clone(&self.wal),
            Arc::clone(&self.barrier),
            self.range,
            last,
            self.notes.reader.clone(),
        );
        Ok(WriterInitResult {
            replay_iterator: Box::new(Replay {
                records,
                last: flushed,
                notes: self.notes.clone(),
            }),
            wal_writer: Box::new(writer),
        })
    }
}

/// The unflushed records, in order.
struct Replay {
    records: VecDeque<Record>,
    last: WalId,
    notes: ReplayNotes,
}

#[async_trait]
impl WalIterator for Replay {
    async fn next(&mut self) -> Result<Option<WalRows>, WalError> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        while bytes < REPLAY_BYTES
            && let Some(record) = self.records.pop_front()
        {
            bytes += record.bytes();
            self.last = record.header.wal_id;
            for row in record.rows() {
                let row = row.map_err(|error| WalError::DataError(Arc::new(error)))?;
                entries.push(rows::entry(row, record.header.seq));
            }
        }
        self.notes.note(&entries, self.last);
        let last_consumed_wal_file_id = self.last.0;
        Ok((!entries.is_empty()).then_some(WalRows {
            rows: entries,
            last_consumed_wal_file_id,
        }))
    }
}

fn data_error(what: &'static str) -> WalError {
    let error = std::io::Error::new(std::io::ErrorKind::InvalidData, what);
    WalError::DataError(Arc::new(error))
}
