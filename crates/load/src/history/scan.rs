//! Checks a scan of the whole table, page by page: rows are in order, and none that nothing changes is missing. Each page
//! is also a read of every entity in its span.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::{Outcome, Register, Value};

/// PartitionKey and RowKey.
pub type Keys = (String, String);

/// The PartitionKey of a row that nothing changes; its value is `number`.
#[must_use]
pub fn stable_partition(number: u64) -> String {
    format!("s{number:03}")
}

/// The number of a row that nothing changes.
fn stable_number(keys: &Keys) -> Option<u64> {
    keys.0.strip_prefix('s')?.parse().ok()
}

/// How many missing rows are named.
const MISSING_NAMED: usize = 10;

/// One scan, from its first page to its last.
#[derive(Debug, Default)]
pub struct ScanCheck {
    last: Option<Keys>,
    /// The numbers of the rows that nothing changes.
    stable: BTreeSet<u64>,
}

impl ScanCheck {
    /// Checks the rows of the next page, and records what it says of the entities that existed for the clients before it
    /// was asked for at `start`. `is_last`: no page follows.
    ///
    /// # Errors
    /// What is wrong with a row.
    pub fn page(
        &mut self,
        registers: &[Arc<Register>],
        rows: Vec<(Keys, Value)>,
        is_last: bool,
        start: Instant,
    ) -> Result<(), String> {
        check_order(self.last.as_ref(), &rows)?;
        let numbers = rows.iter().filter_map(|(keys, _)| stable_number(keys));
        self.stable.extend(numbers);
        note(registers, &rows, self.last.is_none(), is_last, start);
        if let Some((keys, _)) = rows.into_iter().next_back() {
            self.last = Some(keys);
        }
        Ok(())
    }

    /// Checks, after the last page, that all `stable_rows` rows that nothing changes were found.
    ///
    /// # Errors
    /// How many were found, and the first of those that were not.
    pub fn end(self, stable_rows: u64) -> Result<(), String> {
        let missing = (0..stable_rows).filter(|number| !self.stable.contains(number));
        let missing: Vec<String> = missing.take(MISSING_NAMED).map(stable_partition).collect();
        missing.is_empty().then_some(()).ok_or_else(|| {
            let found = self.stable.len();
            format!("a scan returned {found} of {stable_rows} rows that nothing changes, not {missing:?}")
        })
    }
}

/// Rows come in the order of their keys, and those that nothing changes with their values.
fn check_order(last: Option<&Keys>, rows: &[(Keys, Value)]) -> Result<(), String> {
    let mut previous = last;
    for (keys, value) in rows {
        if previous.is_some_and(|previous| previous >= keys) {
            return Err(format!("a scan returned {keys:?} after {previous:?}"));
        }
        if let Some(number) = stable_number(keys)
            && (*value != number || keys.0 != stable_partition(number))
        {
            return Err(format!(
                "a scan returned {keys:?} with {value}, which nothing wrote"
            ));
        }
        previous = Some(keys);
    }
    Ok(())
}

/// Records a page for the entities between its first and its last row. Of rows before the first one, the page before told:
/// a page begins with the key in the token, not after the last row of the page before.
fn note(
    registers: &[Arc<Register>],
    rows: &[(Keys, Value)],
    is_first: bool,
    is_last: bool,
    start: Instant,
) {
    let found: HashMap<&str, Value> = rows
        .iter()
        .map(|((partition, _), value)| (partition.as_str(), *value))
        .collect();
    let first = rows.first().map(|((partition, _), _)| partition.as_str());
    let last = rows.last().map(|((partition, _), _)| partition.as_str());
    for register in registers {
        let name = register.name.as_str();
        let is_after = is_first || first.is_some_and(|first| first <= name);
        let is_before = is_last || last.is_some_and(|last| name <= last);
        let outcome = found
            .get(name)
            .map_or(Outcome::Missing, |value| Outcome::Found(*value));
        if is_after && is_before {
            register.add_scan(start, outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stable(numbers: &[u64]) -> Vec<(Keys, Value)> {
        let row = |number: &u64| ((stable_partition(*number), "r".to_owned()), *number);
        numbers.iter().map(row).collect()
    }

    #[test]
    fn rows_out_of_order_repeated_wrong_or_missing_are_found() {
        let now = Instant::now();
        let mut scan = ScanCheck::default();
        scan.page(&[], stable(&[0, 1]), false, now).unwrap();
        for rows in [stable(&[1]), stable(&[0]), stable(&[3, 2])] {
            let mut again = ScanCheck {
                last: scan.last.clone(),
                stable: scan.stable.clone(),
            };
            again.page(&[], rows, true, now).unwrap_err();
        }
        let wrong = vec![((stable_partition(2), "r".to_owned()), 7)];
        scan.page(&[], wrong, true, now).unwrap_err();
        scan.page(&[], stable(&[2]), true, now).unwrap();
        scan.stable.remove(&1);
        let why = scan.end(3).unwrap_err();
        assert!(why.ends_with("not [\"s001\"]"), "{why}");
    }
}
