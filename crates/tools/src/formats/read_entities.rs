//! The trait of all format readers.

use super::FormatError;
use partita_client::Entity;

/// Reads the entities of a file, one after the other.
pub(super) trait ReadEntities: Send {
    /// The next entity; `None` after the last one.
    fn read(&mut self) -> Result<Option<Entity>, FormatError>;

    /// The number of entities, if the file stores it.
    fn rows(&self) -> Option<u64> {
        None
    }
}
