//! [`EntitySource`]: reads the pages of a table as decoded entities.

use super::page;
use crate::scan::{Keyed, Page, PageRequest, PageSource, SourceError};
use partita_client::{Entity, TableClient};

/// A table as a source of entities. The tasks that read pages also decode them, in parallel. The client retries failed
/// requests.
#[derive(Debug, Clone)]
pub struct EntitySource(pub TableClient);

impl Keyed for Entity {
    fn partition_key(&self) -> &str {
        self.partition_key()
    }

    fn row_key(&self) -> &str {
        self.row_key()
    }
}

impl PageSource for EntitySource {
    type Row = Entity;

    async fn page(&self, request: PageRequest) -> Result<Page<Entity>, SourceError> {
        let (page, continuation) = page(&self.0, request).await?;
        let rows = page.entities()?;
        Ok(Page { rows, continuation })
    }
}
