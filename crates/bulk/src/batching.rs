//! Groups rows into transactions. A transaction has rows of one partition, each key once, at most 100 rows, and less
//! than 4 MiB.

use crate::size::operation_bytes_max;
use partita_client::Entity;
use partita_model::limits::{BATCH_OPERATIONS_MAX, BODY_BYTES_MAX};
use std::collections::HashSet;

/// Maximum size of a batch's operations, in bytes: the service's limit for a request minus 16 KiB for the multipart
/// frame.
pub const BATCH_BYTES_MAX: u64 = BODY_BYTES_MAX as u64 - 16 * 1024;

/// Groups rows into transactions. Rows of one partition keep their order. Partitions are in the order of their first
/// rows. The same rows always give the same transactions.
pub fn batches(rows: Vec<Entity>) -> Vec<Vec<Entity>> {
    let mut by_partition: Vec<(String, Vec<Entity>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for row in rows {
        // Fast path: most rows are in the same partition as the previous row.
        let last = by_partition.len().saturating_sub(1);
        let at = match by_partition.last() {
            Some((key, _)) if key == row.partition_key() => last,
            _ => *places
                .entry(row.partition_key().to_owned())
                .or_insert_with(|| {
                    by_partition.push((row.partition_key().to_owned(), Vec::new()));
                    by_partition.len() - 1
                }),
        };
        by_partition[at].1.push(row);
    }
    by_partition
        .into_iter()
        .flat_map(|(_, rows)| of_one_partition(rows))
        .collect()
}

fn of_one_partition(rows: Vec<Entity>) -> Vec<Vec<Entity>> {
    let mut batches = Vec::new();
    let (mut batch, mut bytes, mut keys) = (Vec::new(), 0, HashSet::new());
    for row in rows {
        let more = operation_bytes_max(&row);
        let is_full = batch.len() == BATCH_OPERATIONS_MAX
            || bytes + more > BATCH_BYTES_MAX && !batch.is_empty()
            || keys.contains(row.row_key());
        if is_full {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
            keys.clear();
        }
        bytes += more;
        keys.insert(row.row_key().to_owned());
        batch.push(row);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Large rows are slow, so there are fewer cases.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn batches_keep_the_order_of_each_partition(
            rows in proptest::collection::vec(("[abc]", "[0-9]{1,3}", 0..900_000_usize), 0..250),
        ) {
            let rows: Vec<Entity> = rows.into_iter().map(|(partition_key, row_key, size)| {
                let mut row = Entity::new(partition_key, row_key);
                // One row in forty is large.
                let size = if size.is_multiple_of(40) { size } else { size % 100 };
                row.insert("Text", "x".repeat(size));
                row
            }).collect();
            let batches = batches(rows.clone());
            let mut found = Vec::new();
            for batch in &batches {
                prop_assert!((1..=BATCH_OPERATIONS_MAX).contains(&batch.len()));
                prop_assert!(batch.iter().all(|row| row.partition_key() == batch[0].partition_key()));
                let keys: HashSet<_> = batch.iter().map(Entity::row_key).collect();
                prop_assert_eq!(keys.len(), batch.len());
                let bytes: u64 = batch.iter().map(operation_bytes_max).sum();
                prop_assert!(bytes <= BATCH_BYTES_MAX);
                found.extend(batch.iter().cloned());
            }
            let of = |rows: &[Entity], partition: &str| -> Vec<Entity> {
                rows.iter().filter(|row| row.partition_key() == partition).cloned().collect()
            };
            for partition in ["a", "b", "c"] {
                prop_assert_eq!(of(&found, partition), of(&rows, partition));
            }
            prop_assert_eq!(found.len(), rows.len());
        }
    }

    #[test]
    fn batches_are_as_large_as_possible() {
        let rows = (0..250).map(|n| Entity::new("p", n.to_string())).collect();
        let sizes: Vec<_> = batches(rows).iter().map(Vec::len).collect();
        assert_eq!(sizes, [100, 100, 50]);
    }
}
