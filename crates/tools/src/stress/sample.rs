//! Samples of PartitionKeys, from a list or from a table.

use crate::scan::{
    Bounds, InvalidQuery, Keyed as _, Order, Query, QueryOptions, RunOptions, Scan, ScanError,
    Strategy,
};
use crate::source::TableSource;
use partita_client::TableClient;
use partita_load::Random;
use serde::Deserialize;
use std::io::{self, BufRead};
use std::sync::Arc;
use thiserror::Error;

/// Maximum number of keys in a sample. If more keys are read, each has the same chance to be kept.
pub const SAMPLE_KEYS_MAX: usize = 100_000;
/// Number of rows of a table after which a sample is complete.
pub const SAMPLE_ROWS_MAX: u64 = 1_000_000;
/// Maximum length of a line of a list, in bytes. A line may be a row as JSON.
const LINE_BYTES_MAX: usize = 4 << 20;
/// Number of parallel requests to the table.
const JOBS: usize = 4;

/// A random sample of PartitionKeys.
#[derive(Debug)]
pub struct Sample {
    /// The keys that were kept.
    pub keys: Vec<String>,
    /// The number of keys read.
    pub met: u64,
    random: Random,
}

/// Why a sample cannot be taken.
#[derive(Debug, Error)]
pub enum SampleError {
    /// The list cannot be read.
    #[error("cannot read the list of keys")]
    Io(#[from] io::Error),
    /// A line looks like JSON but is not a row.
    #[error("line {line} of the list starts like a JSON row but has no PartitionKey")]
    Line {
        /// The line number, from 1.
        line: u64,
        /// Why the line is not a row.
        source: serde_json::Error,
    },
    /// The table cannot be read.
    #[error("cannot read the table")]
    Table(#[from] ScanError),
    /// The query for the keys is invalid.
    #[error(transparent)]
    Query(#[from] InvalidQuery),
}

#[derive(Deserialize)]
struct Row {
    #[serde(rename = "PartitionKey")]
    partition_key: String,
}

impl Sample {
    /// An empty sample. The same seed, with the same keys in the same order, gives the same sample.
    fn new(seed: u64) -> Self {
        Self {
            keys: Vec::new(),
            met: 0,
            random: Random::of(seed, 0),
        }
    }

    /// A sample of a list: each line is a PartitionKey, or a row as JSON. Empty lines are skipped.
    ///
    /// # Errors
    /// [`SampleError::Io`], also if a line is longer than 4 MiB; [`SampleError::Line`].
    pub fn of_lines(mut lines: impl BufRead, seed: u64) -> Result<Self, SampleError> {
        let mut sample = Self::new(seed);
        let (mut line, mut number) = (String::new(), 0);
        loop {
            line.clear();
            number += 1;
            let read = io::Read::take(&mut lines, LINE_BYTES_MAX as u64).read_line(&mut line)?;
            if read == 0 {
                return Ok(sample);
            }
            if read == LINE_BYTES_MAX && !line.ends_with('\n') {
                let what = format!("line {number} is longer than 4 MiB");
                return Err(io::Error::other(what).into());
            }
            let text = line.trim_end_matches(['\r', '\n']);
            if text.starts_with('{') {
                let row: Row = serde_json::from_str(text).map_err(|source| SampleError::Line {
                    line: number,
                    source,
                })?;
                sample.meet(&row.partition_key);
            } else if !text.is_empty() {
                sample.meet(text);
            }
        }
    }

    /// A sample of a table. Stops reading after [`SAMPLE_ROWS_MAX`] rows. Cancel safe.
    ///
    /// # Errors
    /// [`SampleError::Table`].
    pub async fn of_table(table: TableClient, seed: u64) -> Result<Self, SampleError> {
        let query = Query::new(QueryOptions {
            select: vec!["PartitionKey".to_owned(), "RowKey".to_owned()],
            ..QueryOptions::default()
        })?;
        let steps = Strategy::Prefix.plan(&Bounds::default(), &[], JOBS);
        let options = RunOptions {
            jobs: JOBS,
            // In this order, rows of all parts of the table arrive early. So if the sample stops before the end of the
            // table, it covers more than the table's start.
            order: Order::Any,
        };
        let mut scan = Scan::new(Arc::new(TableSource(table)), query, steps, options);
        let mut sample = Self::new(seed);
        while let Some(batch) = scan.next().await {
            for row in &batch?.rows {
                sample.meet(row.partition_key());
            }
            if sample.met >= SAMPLE_ROWS_MAX {
                break;
            }
        }
        // Batches arrive in any order, so the keys are sorted. Even so, only tables of at most SAMPLE_KEYS_MAX rows
        // always give the same sample.
        sample.keys.sort_unstable();
        Ok(sample)
    }

    /// Offers a key to the sample. Each offered key has the same chance to be kept (Vitter's algorithm R).
    fn meet(&mut self, key: &str) {
        self.met += 1;
        if self.keys.len() < SAMPLE_KEYS_MAX {
            self.keys.push(key.to_owned());
            return;
        }
        let at = usize::try_from(self.random.below(self.met)).unwrap_or(usize::MAX);
        if let Some(kept) = self.keys.get_mut(at) {
            key.clone_into(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_or_rows() {
        let lines = "b\r\n\n a b \n{\"PartitionKey\":\"O'Brien\",\"RowKey\":\"x\",\"Age\":4}\nlast";
        let sample = Sample::of_lines(lines.as_bytes(), 1).unwrap();
        assert_eq!(sample.met, 4);
        assert_eq!(sample.keys, ["b", " a b ", "O'Brien", "last"]);
        let wrong = Sample::of_lines("a\n{\"RowKey\":\"x\"}".as_bytes(), 1).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "line 2 of the list starts like a JSON row but has no PartitionKey"
        );
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        assert!(matches!(
            Sample::of_lines(long.as_bytes(), 1),
            Err(SampleError::Io(_))
        ));
    }

    #[test]
    fn each_key_is_kept_with_the_same_chance() {
        let mut sample = Sample::new(7);
        for number in 0..4 * SAMPLE_KEYS_MAX {
            sample.meet(if number < SAMPLE_KEYS_MAX {
                "early"
            } else {
                "late"
            });
        }
        let keys = sample.keys;
        assert_eq!(keys.len(), SAMPLE_KEYS_MAX);
        let early = keys.iter().filter(|key| *key == "early").count();
        assert!((24_000..26_000).contains(&early), "{early}");
    }
}
