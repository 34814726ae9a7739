//! What operations are done to: a table behind HTTP, or in tests something that only takes its time.

use super::metrics::{Outcome, failure};
use super::mix::Kind;
use super::requests::Request;
use partita_client::{
    Entity, Filter, Guid, Page, QueryOptions, TableClient, TransactionAction, UpdateMode,
};

/// The property that marks all rows of a run.
pub const RUN_PROPERTY: &str = "StressRun";
const PAYLOAD: &str = "Payload";
/// A property that no row has, so that a scan has to look at all of them and sends none.
const MISSING: &str = "StressMissing";

/// What an operation has come to.
#[derive(Debug)]
pub struct Performed {
    /// How it ended.
    pub outcome: Outcome,
    /// Entities that were read or written, by partition; those of partitions that are not known under `None`.
    pub served: Vec<(Option<String>, u64)>,
}

/// Something that operations can be done to. Dropped halfway, a write may have happened.
pub trait Target: Send + Sync + 'static {
    /// Does one.
    fn perform(&self, request: Request) -> impl Future<Output = Performed> + Send;
}

/// A table.
#[derive(Debug, Clone)]
pub struct TableTarget {
    /// Its client.
    pub table: TableClient,
    /// What marks the rows of this run.
    pub run: Guid,
    /// Bytes of the text in each row besides keys and mark.
    pub row_bytes: usize,
    /// Rows of a range, 1 to 1,000.
    pub range_rows: u32,
    /// What a scan of the whole table counts for, in entities: nobody tells how many a filter has looked at.
    pub scan_entities: u64,
}

impl TableTarget {
    /// A row of the run.
    pub(super) fn entity(&self, partition_key: &str, row_key: String) -> Entity {
        let mut entity = Entity::new(partition_key, row_key);
        entity.insert(RUN_PROPERTY, self.run);
        if self.row_bytes > 0 {
            entity.insert(PAYLOAD, "x".repeat(self.row_bytes));
        }
        entity
    }

    async fn get(&self, request: Request) -> Result<Performed, partita_client::Error> {
        let Request {
            partition_key,
            row_keys,
            ..
        } = request;
        let row_key = row_keys.first().map_or("", String::as_str);
        let found = self
            .table
            .get_entity_if_exists(&partition_key, row_key)
            .await?;
        let outcome = if found.is_some() {
            Outcome::Done
        } else {
            Outcome::Missing
        };
        Ok(Performed {
            outcome,
            served: vec![(Some(partition_key), 1)],
        })
    }

    async fn write(&self, request: Request) -> Result<Performed, partita_client::Error> {
        let Request {
            kind,
            partition_key,
            row_keys,
        } = request;
        let count = row_keys.len() as u64;
        let mut rows = row_keys
            .into_iter()
            .map(|row_key| self.entity(&partition_key, row_key));
        if kind == Kind::Batch {
            let actions: Vec<_> = rows.map(TransactionAction::Create).collect();
            self.table.submit_transaction(&actions).await?;
        } else if let Some(row) = rows.next() {
            if kind == Kind::Insert {
                self.table.create_entity(&row).await?;
            } else {
                self.table.upsert_entity(&row, UpdateMode::Replace).await?;
            }
        }
        Ok(done(vec![(Some(partition_key), count)]))
    }

    async fn range(&self, request: Request) -> Result<Performed, partita_client::Error> {
        let Request {
            kind,
            partition_key,
            row_keys,
        } = request;
        let filter = if kind == Kind::RowRange {
            let row_key = row_keys.first().map_or("", String::as_str);
            Filter::pk()
                .eq(&*partition_key)
                .and(Filter::rk().ge(row_key))
        } else {
            Filter::pk().ge(&*partition_key)
        };
        let options = QueryOptions::new().filter(filter).top(self.range_rows);
        let page = self.table.query_page(&options, None).await?;
        let mut served = by_partition(&page)?;
        if served.is_empty() {
            // One that finds nothing counts as one entity.
            served.push((Some(partition_key), 1));
        }
        Ok(done(served))
    }

    async fn scan(&self) -> Result<Performed, partita_client::Error> {
        let filter = Filter::property(MISSING).eq(true);
        let options = QueryOptions::new().filter(filter);
        let mut from = None;
        loop {
            let page = self.table.query_page(&options, from.as_ref()).await?;
            match page.continuation() {
                Some(next) => from = Some(next.clone()),
                None => return Ok(done(vec![(None, self.scan_entities.max(1))])),
            }
        }
    }
}

impl Target for TableTarget {
    async fn perform(&self, request: Request) -> Performed {
        let performed = match request.kind {
            Kind::Get => self.get(request).await,
            Kind::Insert | Kind::Upsert | Kind::Batch => self.write(request).await,
            Kind::RowRange | Kind::PartitionRange => self.range(request).await,
            Kind::Scan => self.scan().await,
        };
        performed.unwrap_or_else(|error| Performed {
            outcome: Outcome::Failed(failure(&error)),
            served: Vec::new(),
        })
    }
}

fn done(served: Vec<(Option<String>, u64)>) -> Performed {
    Performed {
        outcome: Outcome::Done,
        served,
    }
}

/// How many rows of a page lie in which partition, in the page's order.
fn by_partition(page: &Page) -> Result<Vec<(Option<String>, u64)>, partita_client::Error> {
    let mut served: Vec<(Option<String>, u64)> = Vec::new();
    for entity in page.entities()? {
        match served.last_mut() {
            Some((Some(key), count)) if key == entity.partition_key() => *count += 1,
            _ => served.push((Some(entity.partition_key().to_owned()), 1)),
        }
    }
    Ok(served)
}
