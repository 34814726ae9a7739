//! [`Target`]: what executes the operations of a run. [`TableTarget`] is a table over HTTP; tests use simulated
//! targets.

use super::metrics::{Outcome, Performed, failure};
use super::mix::Kind;
use super::requests::Request;
use partita_client::{
    Entity, Filter, Guid, Page, QueryOptions, TableClient, TransactionAction, UpdateMode,
};

/// The property that contains the run's id. Every row that a run writes has it.
pub const RUN_PROPERTY: &str = "StressRun";
/// The property that gives rows their size.
const PAYLOAD: &str = "Payload";
/// A property that no row has. A scan with a filter on it reads all rows and returns none.
const MISSING: &str = "StressMissing";

/// Executes operations. If a future is dropped, a write may have happened.
pub trait Target: Send + Sync + 'static {
    /// Performs one operation.
    fn perform(&self, request: Request) -> impl Future<Output = Performed> + Send;
}

/// A table on which a run executes its operations.
#[derive(Debug, Clone)]
pub struct TableTarget {
    /// The client of the table.
    pub table: TableClient,
    /// The id of the run, for [`RUN_PROPERTY`].
    pub run: Guid,
    /// Bytes of text in each row, without the keys and the id of the run.
    pub row_bytes: usize,
    /// Maximum number of rows that a range query returns, 1 to 1,000.
    pub range_rows: u32,
    /// The number of entities to count for a scan of the whole table. The server does not report how many rows a scan
    /// reads.
    pub scan_entities: u64,
}

impl TableTarget {
    /// A row of the run with these keys.
    pub(super) fn entity(&self, partition_key: &str, row_key: String) -> Entity {
        let mut entity = Entity::new(partition_key, row_key);
        entity.insert(RUN_PROPERTY, self.run);
        if self.row_bytes > 0 {
            entity.insert(PAYLOAD, "x".repeat(self.row_bytes));
        }
        entity
    }

    async fn get(&self, request: Request) -> Result<Performed, partita_client::Error> {
        let found = self
            .table
            .get_entity_if_exists(&request.partition_key, first_row(&request))
            .await?;
        let mut performed = done(vec![(Some(request.partition_key), 1)]);
        if found.is_none() {
            performed.outcome = Outcome::Missing;
        }
        Ok(performed)
    }

    async fn write(&self, request: Request) -> Result<Performed, partita_client::Error> {
        let count = request.row_keys.len() as u64;
        let row_keys = request.row_keys.into_iter();
        let mut rows = row_keys.map(|row_key| self.entity(&request.partition_key, row_key));
        if request.kind == Kind::Batch {
            let actions: Vec<_> = rows.map(TransactionAction::Create).collect();
            self.table.submit_transaction(&actions).await?;
        } else if let Some(row) = rows.next() {
            if request.kind == Kind::Insert {
                self.table.create_entity(&row).await?;
            } else {
                self.table.upsert_entity(&row, UpdateMode::Replace).await?;
            }
        }
        Ok(done(vec![(Some(request.partition_key), count)]))
    }

    async fn range(&self, request: Request) -> Result<Performed, partita_client::Error> {
        let partition_key = &*request.partition_key;
        let filter = if request.kind == Kind::RowRange {
            let from = Filter::rk().ge(first_row(&request));
            Filter::pk().eq(partition_key).and(from)
        } else {
            Filter::pk().ge(partition_key)
        };
        let options = QueryOptions::new()
            .filter(filter)
            .page_size(self.range_rows);
        let page = self.table.query_page(&options, None).await?;
        let mut served = by_partition(&page)?;
        if served.is_empty() {
            // A query without results counts as one entity, as the service counts it.
            served.push((Some(request.partition_key), 1));
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

fn first_row(request: &Request) -> &str {
    request.row_keys.first().map_or("", String::as_str)
}

fn done(served: Vec<(Option<String>, u64)>) -> Performed {
    Performed {
        outcome: Outcome::Done,
        served,
    }
}

/// The number of a page's rows in each partition, in the page's order.
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
