//! The settings of a server's scalability targets.

use partita_service::{ContainerRates, Rates};
use std::collections::BTreeMap;

/// The targets of one table and of each of its partitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableTargets {
    /// The rates of each partition.
    pub partition: Rates,
    /// The rates of the whole table.
    pub table: Rates,
}

/// All targets of a server. Unlimited by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetSettings {
    /// The targets of tables that are not in `named`.
    pub tables: TableTargets,
    /// The rates of each account.
    pub account: Rates,
    /// The targets of tables by lower-case name, in every account.
    pub named: BTreeMap<String, TableTargets>,
}

impl TargetSettings {
    /// The documented current targets: 2,000 entities/s per partition, 20,000 per account, of 1 KiB each ("Scalability
    /// and performance targets for Table storage").
    #[must_use]
    pub fn azure() -> Self {
        Self::entities(2_000, 20_000)
    }

    /// The targets of the service's first years: 500 entities/s per partition, 5,000 per account ("Windows Azure
    /// Storage Abstractions and their Scalability Targets", 2010).
    #[must_use]
    pub fn classic() -> Self {
        Self::entities(500, 5_000)
    }

    fn entities(partition: u32, account: u32) -> Self {
        Self {
            tables: TableTargets {
                partition: Rates::entities(partition),
                table: Rates::default(),
            },
            account: Rates::entities(account),
            named: BTreeMap::new(),
        }
    }

    /// Whether all rates are unlimited.
    #[must_use]
    pub fn is_off(&self) -> bool {
        let is_off = |of: &TableTargets| of.partition.is_unlimited() && of.table.is_unlimited();
        self.account.is_unlimited() && is_off(&self.tables) && self.named.values().all(is_off)
    }

    /// The rates of a table.
    pub(crate) fn of(&self, table: &str) -> ContainerRates {
        let targets = if self.named.is_empty() {
            self.tables
        } else {
            let named = self.named.get(&table.to_lowercase());
            named.copied().unwrap_or(self.tables)
        };
        ContainerRates {
            partition: targets.partition,
            container: targets.table,
        }
    }
}
