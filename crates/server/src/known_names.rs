//! The names of all tables and queues, as the admin port shows them: those that were read last while they cannot be read.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use partita_queue::QueueNames;
use partita_table::{Service, TableNames};
use partita_wire::admin::{Missing, NamedKey};

/// How long reading the names from another server may take. Less than the servers of a cluster wait for each other's pages
/// (`admin/peers.rs`), which need the names too.
const PATIENCE: Duration = Duration::from_secs(1);

/// The names of all tables and queues.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) tables: TableNames,
    pub(crate) queues: QueueNames,
}

/// The names that were read last. They name the load of a cluster while the server of its catalog is silent.
#[derive(Debug, Default)]
pub(crate) struct LastNames(Mutex<Arc<Names>>);

/// The names that are known: the present ones, or those that were read last.
#[derive(Debug)]
pub(crate) struct KnownNames {
    names: Arc<Names>,
    /// Why the present names could not be read.
    pub(crate) unread: Option<String>,
}

impl Deref for KnownNames {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.names
    }
}

impl KnownNames {
    /// Whether a key is of a table or queue that may exist. Without the present names, each may.
    pub(crate) fn may_exist(&self, key: &NamedKey) -> bool {
        self.unread.is_some() || key.table.is_some() || key.queue.is_some()
    }

    /// What a document with these names lacks; `silent` are the servers that did not answer, if any.
    pub(crate) fn missing(&self, silent: Option<Vec<String>>) -> Missing {
        Missing {
            silent,
            names_unread: self.unread.clone(),
        }
    }
}

impl LastNames {
    /// Reads the present names. With `is_shared`, another server may have them, which may be silent.
    pub(crate) async fn read(
        &self,
        tables: &Service,
        queues: &partita_queue::Service,
        is_shared: bool,
    ) -> KnownNames {
        let patience = if is_shared { PATIENCE } else { Duration::MAX };
        let read = tokio::time::timeout(patience, read(tables, queues)).await;
        match read.unwrap_or_else(|_| Err(format!("they were not read within {PATIENCE:?}"))) {
            Ok(names) => {
                let names = Arc::new(names);
                *self.0.lock() = Arc::clone(&names);
                let unread = None;
                KnownNames { names, unread }
            }
            Err(reason) => KnownNames {
                names: Arc::clone(&self.0.lock()),
                unread: Some(reason),
            },
        }
    }
}

async fn read(tables: &Service, queues: &partita_queue::Service) -> Result<Names, String> {
    let tables = tables.table_names().await;
    let queues = queues.queue_names().await;
    Ok(Names {
        tables: tables.map_err(|error| error.to_string())?,
        queues: queues.map_err(|error| error.to_string())?,
    })
}
