//! [`Requests`]: computes the kind and the rows of each operation of a run from the operation's number. The same seed
//! gives the same operations.

use super::mix::{Kind, Mix};
use partita_load::{Keys, Random};
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes the seed, so that the random numbers of operations differ from those of keys.
const SALT: u64 = 0x0070_6172_7469_7461;

/// An operation, with its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The kind of the operation.
    pub kind: Kind,
    /// The partition, or the start of a range of partitions; ignored for a scan.
    pub partition_key: String,
    /// The RowKeys: one row, the rows of a batch, or the start of a range.
    pub row_keys: Vec<String>,
}

/// Generates the operations of a run.
#[derive(Debug)]
pub struct Requests {
    keys: Keys,
    seed: u64,
    mix: Mix,
    /// Number of rows per batch.
    batch_rows: u64,
    /// The number of rows that the fill wrote. Their row numbers are 0 to `loaded` - 1.
    loaded: u64,
    /// The only partition to use, and the numbers of its filled rows.
    aim: Option<(String, Vec<u64>)>,
    /// The number of the next new row.
    next_row: AtomicU64,
}

/// Maximum number of filled rows that operations read if they use only one partition.
const AIMED_ROWS_MAX: usize = 1_000_000;

impl Requests {
    /// Operations on a table that contains the rows with numbers below `loaded`. If `aim` is given, operations use only
    /// this partition.
    pub fn new(
        keys: Keys,
        seed: u64,
        mix: Mix,
        batch_rows: u64,
        loaded: u64,
        aim: Option<String>,
    ) -> Self {
        let aim = aim.map(|key| {
            let its = (0..loaded).filter(|number| keys.partition_key(*number) == key);
            let its: Vec<u64> = its.take(AIMED_ROWS_MAX).collect();
            (key, its)
        });
        Self {
            keys,
            seed,
            mix,
            batch_rows: batch_rows.max(1),
            loaded,
            aim,
            next_row: AtomicU64::new(loaded),
        }
    }

    /// The number of new rows so far, including those of failed writes.
    pub(super) fn new_rows(&self) -> u64 {
        self.next_row.load(Ordering::Relaxed) - self.loaded
    }

    /// The operation with this number, from 0. The number determines the kind and the rows to read. New rows get the
    /// next free row numbers.
    pub fn nth(&self, number: u64) -> Request {
        let mut random = Random::of(self.seed ^ SALT, number);
        let kind = self.mix.pick(&mut random);
        match kind {
            Kind::Insert => self.new_rows_of(kind, 1),
            Kind::Batch => self.new_rows_of(kind, self.batch_rows),
            Kind::Get | Kind::Upsert | Kind::RowRange | Kind::PartitionRange | Kind::Scan => {
                let row = self.row(&mut random);
                Request {
                    kind,
                    partition_key: self.partition_key(row),
                    row_keys: vec![self.keys.row_key(row)],
                }
            }
        }
    }

    /// A random row that the fill wrote; without a fill, a row of the run, which may not exist yet.
    fn row(&self, random: &mut Random) -> u64 {
        match &self.aim {
            Some((_, its)) if !its.is_empty() => {
                let at = usize::try_from(random.below(its.len() as u64)).unwrap_or_default();
                its.get(at).copied().unwrap_or_default()
            }
            _ if self.loaded > 0 => random.below(self.loaded),
            _ => random.below(self.next_row.load(Ordering::Relaxed).max(1)),
        }
    }

    fn new_rows_of(&self, kind: Kind, count: u64) -> Request {
        let first = self.next_row.fetch_add(count, Ordering::Relaxed);
        Request {
            kind,
            partition_key: self.partition_key(first),
            row_keys: (first..first + count)
                .map(|number| self.keys.row_key(number))
                .collect(),
        }
    }

    fn partition_key(&self, number: u64) -> String {
        match &self.aim {
            Some((key, _)) => key.clone(),
            None => self.keys.partition_key(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_load::Pattern;
    use std::collections::BTreeSet;

    fn requests(mix: &str, loaded: u64, aim: Option<&str>) -> Requests {
        let keys = Keys::new(Pattern::Uniform { partitions: 10 }, 1, "run", Vec::new());
        Requests::new(
            keys,
            1,
            mix.parse().unwrap(),
            5,
            loaded,
            aim.map(str::to_owned),
        )
    }

    #[test]
    fn reads_use_filled_rows_and_inserts_new_ones() {
        let requests = requests("get=1,insert=1,batch=1", 50, None);
        let keys = Keys::new(Pattern::Uniform { partitions: 10 }, 1, "run", Vec::new());
        let loaded: BTreeSet<_> = (0..50)
            .map(|number| (keys.partition_key(number), keys.row_key(number)))
            .collect();
        let mut new = BTreeSet::new();
        for number in 0..1_000 {
            let request = requests.nth(number);
            let pairs = request
                .row_keys
                .iter()
                .map(|row| (request.partition_key.clone(), row.clone()));
            for pair in pairs {
                match request.kind {
                    Kind::Get => assert!(loaded.contains(&pair)),
                    _ => assert!(!loaded.contains(&pair) && new.insert(pair)),
                }
            }
            assert_eq!(
                request.row_keys.len(),
                if request.kind == Kind::Batch { 5 } else { 1 }
            );
        }
        assert_eq!(new.len() as u64, requests.new_rows());
    }

    #[test]
    fn requests_use_only_the_aimed_partition() {
        let requests = requests("get,insert,row-range,upsert", 500, Some("p3"));
        for number in 0..500 {
            assert_eq!(requests.nth(number).partition_key, "p3");
        }
    }

    #[test]
    fn operations_are_the_same_for_the_same_seed() {
        let both = [(); 2].map(|()| {
            let requests = requests("get,insert,scan", 100, None);
            (0..100)
                .map(|number| requests.nth(number))
                .collect::<Vec<_>>()
        });
        assert_eq!(both[0], both[1]);
    }
}
