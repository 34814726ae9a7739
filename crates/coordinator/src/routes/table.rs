//! All keys at one revision.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::record::{
    BALANCE, BalanceRecord, EXPELLED, Expulsion, Life, MANAGER, MAP, ManagerRecord, MapRecord,
    RANGES, RangeId, RangeRecord, SERVERS, ServerRecord, VERSION, VersionRecord, decode,
};
use crate::registry::{Change, Entry, Registry, RegistryError, Revision};
use crate::version::ClusterVersion;

/// A value with its revisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored<T> {
    /// The revision that created the key.
    pub created: Revision,
    /// The revision that wrote this value.
    pub revision: Revision,
    /// The value.
    pub record: T,
}

/// All keys at one revision. Keys whose values cannot be read are left out, and logged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    revision: Revision,
    manager: Option<Stored<ManagerRecord>>,
    map: Option<Stored<MapRecord>>,
    balance: Option<Stored<BalanceRecord>>,
    version: Option<Stored<VersionRecord>>,
    servers: BTreeMap<String, Stored<ServerRecord>>,
    ranges: BTreeMap<RangeId, Stored<RangeRecord>>,
    expelled: BTreeMap<Life, Stored<Expulsion>>,
    /// The ranges by their first key.
    by_start: BTreeMap<Vec<u8>, RangeId>,
}

impl Table {
    /// Reads all keys.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn read(registry: &dyn Registry) -> Result<Self, RegistryError> {
        let listing = registry.list("").await?;
        let mut table = Self::default();
        let puts = listing.entries.into_iter().map(Change::Put).collect();
        table.apply(listing.revision, puts);
        Ok(table)
    }

    /// The revision. 0 before the first reading.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The elected manager. Its term is the revision that created the key.
    #[must_use]
    pub fn manager(&self) -> Option<&Stored<ManagerRecord>> {
        self.manager.as_ref()
    }

    /// The version of the partition map that the ranges reflect.
    #[must_use]
    pub fn map(&self) -> Option<&Stored<MapRecord>> {
        self.map.as_ref()
    }

    /// Whether the manager splits, merges and moves ranges of its own accord.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.balance.as_ref().is_none_or(|key| key.record.on)
    }

    /// The cluster version, and the one that is about to replace it. `None` if the registry does not say: it is new, or has
    /// lost its data, and the next manager writes it.
    #[must_use]
    pub fn version(&self) -> Option<&Stored<VersionRecord>> {
        self.version.as_ref()
    }

    /// The version in which servers write. The first one if the registry does not say: every server reads it.
    #[must_use]
    pub fn active_version(&self) -> ClusterVersion {
        let version = self.version.as_ref();
        version.map_or(ClusterVersion::FIRST, |version| version.record.active)
    }

    /// The living servers that cannot run at a version, in order.
    #[must_use]
    pub fn unable(&self, version: ClusterVersion) -> Vec<&str> {
        let servers = self.servers.iter();
        let unable = servers.filter(|(_, server)| !server.record.info.versions().include(version));
        unable.map(|(name, _)| name.as_str()).collect()
    }

    /// The living servers by name.
    #[must_use]
    pub fn servers(&self) -> &BTreeMap<String, Stored<ServerRecord>> {
        &self.servers
    }

    /// The ranges by id.
    #[must_use]
    pub fn ranges(&self) -> &BTreeMap<RangeId, Stored<RangeRecord>> {
        &self.ranges
    }

    /// The expelled lives whose ranges must wait.
    #[must_use]
    pub fn expelled(&self) -> &BTreeMap<Life, Stored<Expulsion>> {
        &self.expelled
    }

    /// Whether a life has its lease.
    #[must_use]
    pub fn is_alive(&self, name: &str, life: Life) -> bool {
        let server = self.servers.get(name);
        server.is_some_and(|server| server.record.life == life)
    }

    /// The range that contains `key`. Nothing if it has no key yet.
    #[must_use]
    pub fn range_of(&self, key: &[u8]) -> Option<(RangeId, &Stored<RangeRecord>)> {
        let (_, range) = self
            .by_start
            .range::<[u8], _>((std::ops::Bound::Unbounded, std::ops::Bound::Included(key)))
            .next_back()?;
        let stored = self.ranges.get(range)?;
        let end = stored.record.shape.end.as_deref();
        end.is_none_or(|end| key < end).then_some((*range, stored))
    }

    /// The ranges in the order of their keys, from the one before which no range contains `key`.
    pub fn ranges_from(&self, key: &[u8]) -> impl Iterator<Item = &Stored<RangeRecord>> {
        let up_to = (std::ops::Bound::Unbounded, std::ops::Bound::Included(key));
        let first = self.by_start.range::<[u8], _>(up_to).next_back();
        let first = first.map_or_else(|| key.to_vec(), |(start, _)| start.clone());
        let ranges = self.by_start.range(first..);
        ranges.filter_map(|(_, range)| self.ranges.get(range))
    }

    /// Makes the changes of whole transactions up to `revision`.
    pub(super) fn apply(&mut self, revision: Revision, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Put(entry) => self.set(&entry.key.clone(), Some(entry)),
                Change::Deleted(key) => self.set(&key, None),
            }
        }
        self.revision = revision;
    }

    fn set(&mut self, key: &str, entry: Option<Entry>) {
        if key == MANAGER {
            self.manager = read(entry);
        } else if key == MAP {
            self.map = read(entry);
        } else if key == BALANCE {
            self.balance = read(entry);
        } else if key == VERSION {
            self.version = read(entry);
        } else if let Some(name) = key.strip_prefix(SERVERS) {
            set(&mut self.servers, name.to_owned(), read(entry));
        } else if let Some(id) = key.strip_prefix(RANGES) {
            if let Ok(id) = id.parse() {
                self.set_range(RangeId(id), read(entry));
            }
        } else if let Some(life) = key.strip_prefix(EXPELLED).and_then(Life::parse) {
            set(&mut self.expelled, life, read(entry));
        }
    }

    fn set_range(&mut self, range: RangeId, stored: Option<Stored<RangeRecord>>) {
        let old = self.ranges.get(&range).map(|old| &old.record.shape.start);
        // A range that replaced this one may have taken its start already.
        if let Some(start) = old
            && self.by_start.get(start) == Some(&range)
        {
            self.by_start.remove(start);
        }
        if let Some(stored) = &stored {
            let start = stored.record.shape.start.clone();
            self.by_start.insert(start, range);
        }
        set(&mut self.ranges, range, stored);
    }
}

fn set<K: Ord, T>(map: &mut BTreeMap<K, T>, key: K, value: Option<T>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

fn read<T: DeserializeOwned>(entry: Option<Entry>) -> Option<Stored<T>> {
    let entry = entry?;
    match decode(&entry.key, &entry.value) {
        Ok(record) => Some(Stored {
            created: entry.create_revision,
            revision: entry.mod_revision,
            record,
        }),
        Err(error) => {
            tracing::error!(%error, "ignored a key of the coordinator");
            None
        }
    }
}
