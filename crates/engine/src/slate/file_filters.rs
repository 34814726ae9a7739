//! The Bloom filters that SlateDB writes into data files.
//!
//! A batch of inserts asks the filter of each file for each of its keys, and each wrong "maybe" costs it a block: some
//! eight microseconds. Most of these files are of level 0, small and merged soon. So files of few keys have filters of
//! 16 bits a key, which are wrong for one key in 2,000 instead of one in 120. All filters have SlateDB's format and name.

use std::sync::Arc;

use slatedb::{BloomFilterPolicy, Filter, FilterBuilder, FilterPolicy, RowEntry};

/// The most keys of a file whose filter is of [`BITS_OF_FEW`] bits a key. Files of level 0 have fewer if their rows are of
/// 700 bytes or more; files of a run, which are twice as large, have more unless their rows are of 1,400 bytes or more.
const FEW_KEYS: usize = 50_000;

/// Bits for each key of a file of few keys.
const BITS_OF_FEW: u32 = 16;

/// Bits for each key of other files. Their filters stay in memory: 120 MiB for 100 million rows.
const BITS_OF_MANY: u32 = 10;

/// The policy that the module describes.
pub(super) struct FileFilters {
    few: BloomFilterPolicy,
    many: BloomFilterPolicy,
}

impl FileFilters {
    pub(super) fn new() -> Self {
        Self {
            few: BloomFilterPolicy::new(BITS_OF_FEW),
            many: BloomFilterPolicy::new(BITS_OF_MANY),
        }
    }

    fn of(&self, keys: usize) -> &BloomFilterPolicy {
        match keys <= FEW_KEYS {
            true => &self.few,
            false => &self.many,
        }
    }
}

impl FilterPolicy for FileFilters {
    fn name(&self) -> &str {
        self.many.name()
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(Builder {
            keys: 0,
            few: self.few.builder(),
            many: self.many.builder(),
        })
    }

    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        // A filter says itself how many of its bits a key has.
        self.many.decode(data)
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        self.of(num_keys).estimate_size(num_keys)
    }

    fn supports_prefix_queries(&self) -> bool {
        self.many.supports_prefix_queries()
    }
}

/// Collects the keys of a file for both kinds of filters until their number is known.
struct Builder {
    keys: usize,
    few: Box<dyn FilterBuilder>,
    many: Box<dyn FilterBuilder>,
}

impl FilterBuilder for Builder {
    fn add_entry(&mut self, entry: &RowEntry) {
        self.keys += 1;
        if self.keys <= FEW_KEYS {
            self.few.add_entry(entry);
        }
        self.many.add_entry(entry);
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        match self.keys <= FEW_KEYS {
            true => self.few.build(),
            false => self.many.build(),
        }
    }
}

#[cfg(test)]
mod tests {
    use slatedb::{FilterQuery, ValueDeletable};

    use super::*;

    fn filter(keys: usize) -> Arc<dyn Filter> {
        let mut builder = FileFilters::new().builder();
        for key in 0..keys {
            builder.add_entry(&RowEntry {
                key: name(key),
                value: ValueDeletable::Tombstone,
                seq: 1,
                create_ts: None,
                expire_ts: None,
            });
        }
        builder.build()
    }

    fn name(key: usize) -> bytes::Bytes {
        key.to_be_bytes().to_vec().into()
    }

    /// How many of 100,000 absent keys the filter does not exclude.
    fn wrong(filter: &dyn Filter, keys: usize) -> usize {
        let absent = keys..keys + 100_000;
        let queries = absent.map(|key| FilterQuery::point(name(key)));
        queries.filter(|query| filter.might_match(query)).count()
    }

    #[test]
    fn the_filter_of_few_keys_is_seldom_wrong() {
        for (keys, bits, wrong_max) in [(FEW_KEYS, 16, 150), (FEW_KEYS + 1, 10, 1_500)] {
            let filter = filter(keys);
            for key in [0, 1, keys / 2, keys - 1] {
                assert!(filter.might_match(&FilterQuery::point(name(key))));
            }
            assert_eq!(filter.size() * 8 / keys, bits, "{keys} keys");
            let wrong = wrong(&*filter, keys);
            assert!(wrong < wrong_max, "{keys} keys: {wrong}");
            let mut stored = Vec::new();
            filter.encode(&mut stored);
            let read = FileFilters::new().decode(&stored);
            assert_eq!(self::wrong(&*read, keys), wrong);
        }
    }
}
