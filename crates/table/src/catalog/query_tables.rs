//! Query Tables: an account's tables in the order of their names, ignoring case.

use super::{Table, table_key};
use crate::{Error, Service};
use partita_engine::ScanHint;
use partita_model::{
    AccountName, DateTime, Filter, KeyKind, KeyWriter, Property, Row, StoredError, ValueRef,
};
use partita_service::RowWalk;

/// Where the next page of a listing starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableToken {
    /// The name of the next table, in lower case.
    pub folded: String,
    /// The creation time of that table.
    pub created: DateTime,
}

/// Some tables of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePage {
    /// Their names, in order.
    pub names: Vec<String>,
    /// The continuation; `None` on the last page.
    pub next: Option<TableToken>,
}

/// A table by its name, as a row for filters: they can test only `TableName`.
struct Listed<'a>(&'a str);

impl Row for Listed<'_> {
    fn property(&self, property: &Property) -> Result<Option<ValueRef<'_>>, StoredError> {
        Ok(match property {
            Property::Named(name) if name == "TableName" => Some(ValueRef::String(self.0)),
            _ => None,
        })
    }
}

impl Service {
    /// At most `top` tables that pass the filter, starting at the table `from` (in lower case).
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn query_tables(
        &self,
        account: &AccountName,
        filter: Option<&Filter>,
        top: usize,
        from: Option<&str>,
    ) -> Result<TablePage, Error> {
        let deadline = self.clock().monotonic() + self.settings.page_time_max;
        let start = table_key(account, from.unwrap_or_default());
        let mut end = Vec::from(
            KeyWriter::new(KeyKind::TABLE, 32)
                .text(account.as_str())
                .finish(),
        );
        end.push(0xFF);
        let mut page = TablePage {
            names: Vec::new(),
            next: None,
        };
        if top == 0 {
            // Returns no token, because with a token a client would request the same empty page forever.
            return Ok(page);
        }
        let walk = RowWalk::new(self.storage(), start, end.into());
        let mut walk = walk.with_hint(ScanHint::page(top));
        while let Some(rows) = walk.next().await? {
            let late = self.clock().monotonic() >= deadline;
            for (_, row) in rows {
                let table = Table::from_row(account, &row)?;
                let passes = match filter {
                    Some(filter) => filter.matches(&Listed(&table.name))?,
                    None => true,
                };
                if (passes && page.names.len() == top) || late {
                    let folded = table.name.to_ascii_lowercase();
                    page.next = Some(TableToken {
                        folded,
                        created: table.created,
                    });
                    return Ok(page);
                }
                if passes {
                    page.names.push(table.name);
                }
            }
        }
        Ok(page)
    }
}
