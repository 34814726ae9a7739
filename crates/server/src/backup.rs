//! What can be done with a backup without a server: reading all of it, and making a data directory from it.

pub use partita_cluster::backup::{
    Backup, BackupError, Finding, Progress, Verified, restore, verify,
};
pub use partita_rt::Place;
