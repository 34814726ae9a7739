//! The numbers of rows and deletions in each file, from the statistics that SlateDB writes into the file.

use std::collections::{BTreeMap, BTreeSet};

use slatedb::manifest::SsTableView;
use slatedb::{SstReader, SstStats, VersionedManifest};

use super::need::{KeySpan, Source};
use crate::ChangeError;
use crate::slate::{file_layout, store_error};

/// The counts of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileCounts {
    pub(super) rows: u64,
    /// The number of rows that are deletions.
    pub(super) deletes: u64,
    /// The number of deletions in the longest stretch: consecutive blocks, each at least half deletions.
    pub(super) stretch: u64,
}

impl FileCounts {
    fn of(stats: &SstStats) -> Self {
        let mut counts = Self {
            rows: stats.num_rows(),
            deletes: stats.num_deletes,
            stretch: 0,
        };
        let mut stretch = 0;
        for block in &stats.block_stats {
            let others = u64::from(block.num_puts) + u64::from(block.num_merges);
            let deletes = u64::from(block.num_deletes);
            stretch = if deletes >= others {
                stretch + deletes
            } else {
                0
            };
            counts.stretch = counts.stretch.max(stretch);
        }
        counts
    }
}

/// The counts of the files of one database. Files do not change, so each is read once.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<u128, FileCounts>);

impl Counts {
    /// Reads the counts of new files, and drops those of files that the database no longer reads.
    pub(super) async fn update(
        &mut self,
        reader: &SstReader,
        manifest: &VersionedManifest,
    ) -> Result<(), ChangeError> {
        let files: BTreeSet<u128> = manifest.all_sst_views().map(file).collect();
        self.0.retain(|known, _| files.contains(known));
        for view in manifest.all_sst_views() {
            if self.0.contains_key(&file(view)) {
                continue;
            }
            let opened = reader.open_with_handle(view.sst.clone());
            let stats = opened.map_err(store_error)?.stats().await;
            // A file of an early version of SlateDB has no statistics.
            let stats = stats.map_err(store_error)?.unwrap_or_default();
            self.0.insert(file(view), FileCounts::of(&stats));
        }
        Ok(())
    }

    /// The level 0 files and the sorted runs, newest first.
    pub(super) fn sources(&self, manifest: &VersionedManifest) -> Vec<Source> {
        let level0 = manifest.l0().iter();
        let level0 = level0.map(|view| self.source(true, std::slice::from_ref(view)));
        let runs = manifest.compacted().iter();
        let runs = runs.map(|run| self.source(false, run.sst_views()));
        level0.chain(runs).collect()
    }

    fn source(&self, is_level0: bool, views: &[SsTableView]) -> Source {
        let mut source = Source {
            is_level0,
            ..Source::default()
        };
        for view in views {
            let counts = self.0.get(&file(view)).copied().unwrap_or_default();
            source.rows += counts.rows;
            source.deletes += counts.deletes;
            source.stretch = source.stretch.max(counts.stretch);
            source.files.push(KeySpan {
                first: view.sst.info.first_entry.clone().unwrap_or_default(),
                last: view.sst.info.last_entry.clone(),
                bytes: file_layout::visible(view).1,
            });
        }
        source
    }
}

/// The name of a file as a number.
fn file(view: &SsTableView) -> u128 {
    view.sst.id.value().0
}

#[cfg(test)]
mod tests {
    use slatedb::BlockStats;

    use super::*;

    fn counts(blocks: &[(u16, u16)]) -> FileCounts {
        let block_stats: Vec<BlockStats> = blocks
            .iter()
            .map(|(puts, deletes)| BlockStats {
                num_puts: *puts,
                num_deletes: *deletes,
                num_merges: 0,
            })
            .collect();
        FileCounts::of(&SstStats {
            num_puts: blocks.iter().map(|(puts, _)| u64::from(*puts)).sum(),
            num_deletes: blocks.iter().map(|(_, deletes)| u64::from(*deletes)).sum(),
            block_stats,
            ..SstStats::default()
        })
    }

    #[test]
    fn a_stretch_ends_at_a_block_of_mostly_live_rows() {
        let counts = counts(&[(0, 10), (6, 4), (0, 20), (5, 5), (20, 19), (0, 3)]);
        assert_eq!(
            counts,
            FileCounts {
                rows: 92,
                deletes: 61,
                stretch: 25
            }
        );
    }

    #[test]
    fn a_file_without_statistics_has_no_deletions() {
        assert_eq!(FileCounts::of(&SstStats::default()), FileCounts::default());
    }
}
