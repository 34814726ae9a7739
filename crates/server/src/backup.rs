//! Operations on a backup that need no server: verifying it, and restoring it into a new data directory or an empty
//! object store.

pub use crate::config::ObjectStorePlace;
pub use crate::store::{RestoreError, restore_to_store};
pub use partita_rt::Place;
pub use partita_snapshot::backup::{
    Backup, BackupError, Finding, Progress, Verified, restore, verify,
};
