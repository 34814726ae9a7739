//! Operations on a backup that need no server: verifying it, and restoring it into a new data directory.

pub use partita_cluster::backup::{
    Backup, BackupError, Finding, Progress, Verified, restore, verify,
};
pub use partita_rt::Place;
