//! Operations on a backup that need no server: verifying it, and restoring it into a new data directory.

pub use partita_rt::Place;
pub use partita_snapshot::backup::{
    Backup, BackupError, Finding, Progress, Verified, restore, verify,
};
