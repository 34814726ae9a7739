//! What can be done with a backup without a server: reading all of it, and making a data directory from it.

pub use partita_rt::Place;
pub use partita_snapshot::backup::{
    Backup, BackupError, Finding, Progress, Verified, restore, verify,
};
