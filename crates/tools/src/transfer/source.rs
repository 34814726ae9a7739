//! [`TableSource`]: reads the pages of a table as decoded entities.

use crate::scan::{Page, PageRequest, PageSource, SourceError};
use crate::source::page;
use partita_client::{Entity, TableClient};

/// A table as a source of entities. The tasks that read pages also decode them, in parallel. The client retries failed
/// requests.
#[derive(Debug, Clone)]
pub struct TableSource(pub TableClient);

impl PageSource for TableSource {
    type Row = Entity;

    async fn page(&self, request: PageRequest) -> Result<Page<Entity>, SourceError> {
        let (page, continuation) = page(&self.0, request).await?;
        let rows = page.entities()?;
        Ok(Page { rows, continuation })
    }
}
