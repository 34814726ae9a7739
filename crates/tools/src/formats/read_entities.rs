//! What the reader of each format implements.

use super::FormatError;
use partita_client::Entity;

/// Reads the entities of a file, one after the other.
pub(super) trait ReadEntities: Send {
    /// The next entity; none after the last one.
    fn read(&mut self) -> Result<Option<Entity>, FormatError>;

    /// How many entities there are, if the file says so.
    fn rows(&self) -> Option<u64> {
        None
    }
}
