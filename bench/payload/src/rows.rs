//! Requests into rows in their stored form, and stored rows into answers, with this project's parser and writer.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use partita_bench::{Account, entity};
use partita_model::{DateTime, Entity, Stored, TableId, TableSpace};
use partita_wire::table::{self, EntityFormat, EntityWriter, MetadataLevel};

/// The Timestamp of all rows.
const TIMESTAMP: &str = "2024-01-02T03:04:05.1234567Z";

/// About the bytes of an entity in a page.
const ENTITY_BYTES_GUESS: usize = 1_300;

/// The number of the table in keys; a server gives each table another one.
const TABLE: TableId = TableId(7);

/// The key and the value of a row, as a server stores them.
pub(crate) type Row = (Bytes, Bytes);

/// The stored form of the rows of one table.
#[derive(Debug)]
pub(crate) struct Codec {
    space: TableSpace,
    timestamp: DateTime,
}

impl Codec {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            space: TableSpace::new(Account::well_known().name(), TABLE),
            timestamp: DateTime::parse(TIMESTAMP)?,
        })
    }

    /// The rows of a batch of inserts.
    pub(crate) fn read_batch(&self, content_type: &str, body: &[u8]) -> anyhow::Result<Vec<Row>> {
        let batch = table::read_batch(content_type, body);
        let batch = batch.map_err(|refusal| anyhow!("{refusal:?}"))?;
        let parts = batch.parts.iter();
        parts.map(|part| self.read_insert(part.body)).collect()
    }

    /// The row of an insert.
    pub(crate) fn read_insert(&self, body: &[u8]) -> anyhow::Result<Row> {
        let draft = table::read_entity(body).map_err(|failure| anyhow!("{failure:?}"))?;
        let partition_key = draft.partition_key.context("no PartitionKey")?;
        let row_key = draft.row_key.context("no RowKey")?;
        let value = draft.properties.into_stored(self.timestamp);
        Ok((self.space.entity(&partition_key, &row_key), value))
    }

    /// A stored row as an entity.
    fn open<'r>(&self, (key, value): &'r Row) -> anyhow::Result<Entity<'r>> {
        let (partition_key, row_key) = self.space.decode(key)?;
        Ok(Entity {
            partition_key,
            row_key,
            stored: Stored::open(value)?,
        })
    }
}

/// Rows in memory, by partition.
#[derive(Debug)]
pub(crate) struct PreparedRows {
    codec: Codec,
    partitions: Vec<Vec<Row>>,
    next: AtomicUsize,
    account: String,
    base: String,
}

impl PreparedRows {
    /// The 100,000 rows of the benchmark.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let codec = Codec::new()?;
        let partition = |first: u64| {
            let rows = first..first + entity::PARTITION_ROWS;
            let rows = rows.map(|row| {
                let (partition_key, row_key) = entity::prepared_keys(row);
                codec.read_insert(entity::body(&partition_key, &row_key, row).as_bytes())
            });
            rows.collect::<anyhow::Result<Vec<Row>>>()
        };
        let first_rows = (0..entity::PREPARED_ROWS).step_by(entity::PARTITION_ROWS as usize);
        let partitions = first_rows.map(partition).collect::<anyhow::Result<_>>()?;
        let account = Account::well_known().name().to_owned();
        Ok(Self {
            codec,
            partitions,
            next: AtomicUsize::new(0),
            base: format!("http://127.0.0.1:10002/{account}"),
            account,
        })
    }

    /// A page of 1,000 entities, each time another one.
    pub(crate) fn page(&self) -> anyhow::Result<Vec<u8>> {
        let rows = self.partition()?;
        let mut page = Vec::with_capacity(rows.len() * ENTITY_BYTES_GUESS);
        let format = self.format();
        let writer = EntityWriter::new(&format);
        writer.begin_page(&mut page);
        for (number, row) in rows.iter().enumerate() {
            writer.row(number == 0, &self.codec.open(row)?, &mut page)?;
        }
        writer.end_page(&mut page);
        Ok(page)
    }

    /// One entity, each time another one.
    pub(crate) fn entity(&self) -> anyhow::Result<Vec<u8>> {
        let row = self.partition()?.first().context("an empty partition")?;
        let mut body = Vec::with_capacity(ENTITY_BYTES_GUESS);
        let format = self.format();
        EntityWriter::new(&format).single(&self.codec.open(row)?, &mut body)?;
        Ok(body)
    }

    fn partition(&self) -> anyhow::Result<&[Row]> {
        // The stride has no divisor in common with the number of partitions, so all are read.
        let number = self.next.fetch_add(37, Ordering::Relaxed) % self.partitions.len();
        let rows = self.partitions.get(number);
        rows.map(Vec::as_slice).context("no partitions")
    }

    fn format(&self) -> EntityFormat<'_> {
        EntityFormat {
            level: MetadataLevel::Minimal,
            base: &self.base,
            account: &self.account,
            table: "benchread",
            select: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_all_rows_of_a_partition() {
        let rows = PreparedRows::new().unwrap();
        let page = String::from_utf8(rows.page().unwrap()).unwrap();
        assert_eq!(page.matches("\"RowKey\"").count(), 1_000);
        assert!(page.len() > 1_000_000);
        let entity = String::from_utf8(rows.entity().unwrap()).unwrap();
        assert_eq!(entity.matches("\"RowKey\"").count(), 1);
    }
}
