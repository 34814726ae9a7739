//! List Queues: an account's queues in the order of their names.

use super::{Queue, queue_key};
use crate::{Error, Service};
use bytes::Bytes;
use partita_engine::ScanHint;
use partita_model::{AccountName, KeyKind, KeyReader, Metadata};
use partita_service::{CHUNK_ROWS, RowWalk};
use std::ops::Range;

/// The bytes of names and metadata at which a page ends.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// A queue in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedQueue {
    /// Its name.
    pub name: String,
    /// Its metadata.
    pub metadata: Metadata,
}

/// Some queues of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueuePage {
    /// The queues in order.
    pub queues: Vec<ListedQueue>,
    /// The name of the next queue; `None` on the last page.
    pub next: Option<String>,
}

impl Service {
    /// At most `top` queues whose names begin with `prefix`, starting at the name `from`. A page with much metadata ends
    /// earlier: 5,000 queues may have 40 MiB of it.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn list_queues(
        &self,
        account: &AccountName,
        prefix: &str,
        from: Option<&str>,
        top: usize,
    ) -> Result<QueuePage, Error> {
        let start = queue_key(account.as_str(), from.unwrap_or_default().max(prefix));
        // No name has this byte.
        let end = [&queue_key(account.as_str(), prefix), &b"\xFF"[..]]
            .concat()
            .into();
        let mut page = QueuePage::default();
        let mut bytes = 0;
        self.scan_queues(start..end, |queue| {
            if page.queues.len() == top || bytes >= PAGE_BYTES_MAX {
                page.next = Some(queue.name);
                return false;
            }
            bytes += queue.name.len() + queue.metadata.bytes();
            page.queues.push(ListedQueue {
                name: queue.name,
                metadata: queue.metadata,
            });
            true
        })
        .await?;
        Ok(page)
    }

    /// Calls `visit` for each queue of all accounts until it returns `false`.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn each_queue(&self, visit: impl FnMut(Queue) -> bool + Send) -> Result<(), Error> {
        self.scan_queues(KeyKind::QUEUE.start()..KeyKind::QUEUE.end(), visit)
            .await
    }

    async fn scan_queues(
        &self,
        keys: Range<Bytes>,
        mut visit: impl FnMut(Queue) -> bool + Send,
    ) -> Result<(), Error> {
        let walk = RowWalk::new(self.storage(), keys.start, keys.end);
        let mut walk = walk.with_hint(ScanHint::page(CHUNK_ROWS));
        while let Some(rows) = walk.next().await? {
            for (key, row) in rows.iter() {
                let mut fields = KeyReader::of_kind(key, KeyKind::QUEUE)?;
                let account = fields.text()?;
                let queue = Queue::from_row(&account, &fields.last_text()?, row)?;
                if !visit(queue) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
