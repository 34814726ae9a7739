//! Reads the groups of a log: of a sealed log, or in advance of a log that will be sealed.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::Life;
use super::fault;
use super::object::{self, Group};
use super::requests::Requests;
use super::sealer::{self, SealedLog};
use crate::{OpenWalError, RangeId, Record, WalId};

/// The number of objects that are read at the same time.
const READS_AT_ONCE: usize = 64;

/// Reads the log of one life. What it has read stays in memory, at most the live bytes of a log.
pub struct LogReader {
    requests: Requests,
    life: Life,
    groups: BTreeMap<u64, Group>,
}

impl LogReader {
    pub(super) fn new(requests: Requests, life: Life) -> Self {
        Self {
            requests,
            life,
            groups: BTreeMap::new(),
        }
    }

    /// Reads the groups that the log has now, while its writer may be alive. Objects of a log never change, so only
    /// those that follow remain for [`LogReader::read`]. Groups that the writer has deleted are forgotten. Cancel safe:
    /// what was read stays.
    ///
    /// # Errors
    /// See [`OpenWalError`].
    pub async fn read_ahead(&mut self) -> Result<(), OpenWalError> {
        let listing = sealer::list(&self.requests, self.life).await?;
        self.groups
            .retain(|number, _| listing.is_seal(*number) == Some(false));
        let missing = listing.groups().filter(|it| !self.groups.contains_key(it));
        let missing: Vec<(u64, u64)> = missing
            .map(|number| (number, listing.bytes(number).unwrap_or_default()))
            .collect();
        // The writer may delete groups meanwhile.
        self.fetch(missing).await.map(drop)
    }

    /// The number of groups in memory.
    #[must_use]
    pub fn groups_read(&self) -> usize {
        self.groups.len()
    }

    /// The records of a sealed log of each of these ranges after the given record, in order. Checks that all groups
    /// from the floor to the seal exist, and that no record is missing between those of a range.
    ///
    /// # Errors
    /// A group is missing or damaged, or a record is missing; see [`OpenWalError`].
    pub async fn read(
        self,
        sealed: &SealedLog,
        ranges: &BTreeMap<RangeId, WalId>,
    ) -> Result<BTreeMap<RangeId, Vec<Record>>, OpenWalError> {
        let mut found: BTreeMap<RangeId, Vec<Record>> = BTreeMap::new();
        let life = self.life;
        for group in self.read_groups(sealed).await? {
            for record in group.records {
                let header = record.header;
                let Some(flushed) = ranges.get(&header.range) else {
                    continue;
                };
                if header.wal_id <= *flushed {
                    continue;
                }
                let of_range = found.entry(header.range).or_default();
                let before = of_range.last().map_or(*flushed, |last| last.header.wal_id);
                if Some(header.wal_id.0) != before.0.checked_add(1) {
                    return Err(fault::missing(
                        &life.path(group.header.number),
                        "records of a range are missing before it",
                    ));
                }
                of_range.push(record);
            }
        }
        Ok(found)
    }

    /// All groups of a sealed log, in order.
    pub(super) async fn read_groups(
        mut self,
        sealed: &SealedLog,
    ) -> Result<Vec<Group>, OpenWalError> {
        if sealed.is_collected {
            return Ok(Vec::new());
        }
        let mut groups = self.groups.split_off(&sealed.floor);
        groups.split_off(&sealed.end);
        self.groups = groups;
        let all = (sealed.floor..sealed.end).zip(sealed.lengths.iter().copied());
        let missing = all.filter(|(number, _)| !self.groups.contains_key(number));
        let missing = missing.collect();
        let absent = self.fetch(missing).await?;
        if let Some(number) = absent {
            // Another server may have collected the log since it was sealed here.
            if sealer::list(&self.requests, self.life).await?.is_collected {
                return Ok(Vec::new());
            }
            return Err(fault::missing(
                &self.life.path(number),
                "it held a group of records that were not released",
            ));
        }
        Ok(self.groups.into_values().collect())
    }

    /// Reads groups, given their numbers and lengths. Returns the lowest number that has no object.
    async fn fetch(&mut self, numbers: Vec<(u64, u64)>) -> Result<Option<u64>, OpenWalError> {
        let (requests, life) = (&self.requests, self.life);
        let reads = stream::iter(numbers).map(|(number, bytes)| async move {
            let group = read_group(requests, life, number, bytes).await?;
            Ok::<_, OpenWalError>((number, group))
        });
        let mut reads = reads.buffered(READS_AT_ONCE);
        let mut absent = None;
        while let Some((number, group)) = reads.try_next().await? {
            match group {
                Some(group) => {
                    self.groups.insert(number, group);
                }
                None => absent = absent.or(Some(number)),
            }
        }
        Ok(absent)
    }
}

/// Reads a group; `None` if it is missing.
async fn read_group(
    requests: &Requests,
    life: Life,
    number: u64,
    bytes: u64,
) -> Result<Option<Group>, OpenWalError> {
    let path = life.path(number);
    let found = requests.get(&path, bytes).await;
    let Some(found) = found.map_err(fault::store_failed)? else {
        return Ok(None);
    };
    let unreadable = |fault| fault::unreadable(&path, fault);
    let group = object::decode_group(&found).map_err(unreadable)?;
    group.header.check_name(life, number).map_err(unreadable)?;
    Ok(Some(group))
}
