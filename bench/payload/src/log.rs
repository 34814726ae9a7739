//! A log of rows: all waiting requests are written with one write and one sync.
//!
//! It does what a log that survives a power cut must do, and nothing else: no recovery, no index. The file is written
//! before the first request, so that a sync writes no metadata, and again from its start when it is full.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Context;
use tokio::sync::{mpsc, oneshot};

use crate::rows::Row;

/// Bytes of the file.
const FILE_BYTES: u64 = 64 << 20;

/// A group takes no more requests once it is this long.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// Requests that wait for the next group.
const WAITING_MAX: usize = 1_024;

/// Records begin at multiples of this: disks write no less.
const SECTOR_BYTES: usize = 512;

/// Bytes before the rows of a record: its checksum, and what a real log needs to find its place.
const HEAD_BYTES: usize = 48;

/// The rows of a request, and where to send that they are on the disk.
type Waiting = (Vec<Row>, oneshot::Sender<()>);

/// A log with its own thread.
#[derive(Debug)]
pub(crate) struct Log {
    waiting: mpsc::Sender<Waiting>,
}

impl Log {
    /// Writes the file at `path`, and starts the thread.
    pub(crate) fn start(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        let zeros = vec![0; 1 << 20];
        for offset in (0..FILE_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset)?;
        }
        file.sync_all()?;
        let (waiting, received) = mpsc::channel(WAITING_MAX);
        // Ends with the process: a failure drops the senders, and so every request fails.
        std::thread::spawn(move || write_groups(&file, received));
        Ok(Self { waiting })
    }

    /// Returns when the rows are on the disk.
    pub(crate) async fn write(&self, rows: Vec<Row>) -> anyhow::Result<()> {
        let (done, synced) = oneshot::channel();
        let sent = self.waiting.send((rows, done)).await;
        sent.ok().context("the log has failed")?;
        synced.await.context("the log has failed")
    }
}

fn write_groups(file: &File, mut received: mpsc::Receiver<Waiting>) -> anyhow::Result<()> {
    let (mut group, mut bytes, mut offset) = (Vec::new(), Vec::new(), 0);
    while let Some(first) = received.blocking_recv() {
        let mut next = Some(first);
        while let Some((rows, done)) = next {
            encode(&rows, &mut bytes);
            group.push(done);
            next = match bytes.len() < GROUP_BYTES_MAX {
                true => received.try_recv().ok(),
                false => None,
            };
        }
        if offset + bytes.len() as u64 > FILE_BYTES {
            offset = 0;
        }
        file.write_all_at(&bytes, offset)?;
        file.sync_data()?;
        offset += bytes.len() as u64;
        bytes.clear();
        for done in group.drain(..) {
            // A client that has closed its connection does not wait.
            let _ = done.send(());
        }
    }
    Ok(())
}

/// Appends a record with a checksum.
fn encode(rows: &[Row], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.resize(start + HEAD_BYTES, 0);
    for (key, value) in rows {
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    let record = bytes.get_mut(start..).unwrap_or_default();
    if let Some((checksum, content)) = record.split_first_chunk_mut::<4>() {
        *checksum = crc32fast::hash(content).to_le_bytes();
    }
    bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
}
