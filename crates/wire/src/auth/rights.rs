//! Rights as plain values, for another server of the cluster.

use partita_model::EntityRange;

/// The rights of a verified caller as plain values. [`super::Access`] interprets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// Everything: a key of the account.
    Owner,
    /// An account SAS. Letters are bits: bit 0 is `a`.
    AccountSas {
        /// The letters of `srt`.
        resource_types: u32,
        /// The letters of `sp`.
        permissions: u32,
    },
    /// A SAS of a table or queue.
    ContainerSas {
        /// The name of the table or queue.
        container: String,
        /// The letters of `sp`.
        permissions: u32,
        /// The rows that it covers; all for a queue.
        range: EntityRange,
    },
    /// The roles of a bearer token, as bits that each service numbers.
    Roles(u32),
}
