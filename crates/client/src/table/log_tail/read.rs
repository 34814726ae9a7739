//! Reads the newest rows of a log.

use super::{LogTail, LogTailKey};
use crate::{Continuation, Entity, EntityStream, Filter, QueryOptions, Result};
use partita_model::DateTime;
use partita_model::limits::PAGE_ENTITIES_MAX;

impl LogTail {
    /// Reads at most `rows_max` rows, newest first. Up to 1,000 rows take one request, unless the server ends its page
    /// early.
    ///
    /// # Errors
    /// As [`crate::TableClient::query_page`].
    pub async fn latest(&self, rows_max: usize) -> Result<Vec<Entity>> {
        self.newest(self.whole(), rows_max).await
    }

    /// Reads the rows with times from `time` on, newest first, page by page. The times come from the clocks of the
    /// appenders.
    ///
    /// ```
    /// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
    /// # server::on_a_server(async |connection_string| {
    /// # use partita_client::*;
    /// # use futures::TryStreamExt as _;
    /// # let service = TableServiceClient::from_connection_string(&connection_string)?;
    /// let log = LogTail::new(service.create_table("logs").await?, "web-1");
    /// let before = log.append(Entity::default()).await?;
    /// let after = log.append(Entity::default()).await?;
    /// let rows: Vec<Entity> = log.since(after.time()).try_collect().await?;
    /// assert_eq!(rows.len(), 1);
    /// assert_eq!(rows[0].row_key(), after.to_string());
    /// # let rows: Vec<Entity> = log.since(before.time()).try_collect().await?;
    /// # assert_eq!(rows.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn since(&self, time: DateTime) -> EntityStream {
        self.table.query_entities(self.options(self.from(time)))
    }

    /// Reads at most `rows_max` rows with times from `time` on, newest first.
    ///
    /// # Errors
    /// As [`Self::latest`].
    pub async fn latest_since(&self, time: DateTime, rows_max: usize) -> Result<Vec<Entity>> {
        self.newest(self.from(time), rows_max).await
    }

    /// Matches all rows of the log.
    fn whole(&self) -> Filter {
        Filter::pk().eq(&*self.partition_key)
    }

    fn options(&self, filter: Filter) -> QueryOptions {
        QueryOptions::new().filter(filter).select(&*self.select)
    }

    pub(super) fn from(&self, time: DateTime) -> Filter {
        self.whole().and(Filter::rk().lt(LogTailKey::end_of(time)))
    }

    pub(super) async fn newest(&self, filter: Filter, rows_max: usize) -> Result<Vec<Entity>> {
        let mut options = self.options(filter);
        let (mut rows, mut from) = (Vec::new(), None::<Continuation>);
        while rows.len() < rows_max {
            let missing = (rows_max - rows.len()).min(PAGE_ENTITIES_MAX);
            options = options.limit(missing);
            let page = self.table.query_page(&options, from.as_ref()).await?;
            rows.extend(page.entities()?);
            from = page.continuation().cloned();
            if from.is_none() {
                break;
            }
        }
        rows.truncate(rows_max);
        Ok(rows)
    }
}
