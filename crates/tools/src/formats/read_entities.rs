//! The interface of each format's reader.

use super::FormatError;
use partita_client::Entity;

/// Reads the entities of a file, one after the other.
pub(super) trait ReadEntities: Send {
    /// The next entity; none after the last one.
    fn read(&mut self) -> Result<Option<Entity>, FormatError>;

    /// The number of entities, if the file has it.
    fn rows(&self) -> Option<u64> {
        None
    }
}
