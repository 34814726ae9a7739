//! Steps: the pieces into which a scan cuts a table.
//!
//! Invariants:
//! - at any time the open steps of a scan cover exactly the rows not yet returned, and no row is in two steps;
//! - a step is a complete description of the rows to read, so it can be stored and executed by another process;
//! - equal steps have equal ids. Two open steps of one scan never have the same id, because no row is in two steps. So
//!   an id detects a step that is delivered twice.

use super::bounds::{Bounds, condition};
use partita_model::{Comparison, ContinuationToken, Filter, Property, compare_utf16};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Length of a step's id in bytes: 96 bits of a hash, so that a collision among a billion steps is practically
/// impossible.
const ID_BYTES: usize = 12;

/// Identifies a step within its scan: a hash of all its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId([u8; ID_BYTES]);

/// A unit of work of a scan: a part of the table, and how to read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The part.
    pub part: Part,
    /// The token of the part's last page, if a range continues after it, or if the page had no rows. Other parts
    /// continue after the keys of their last row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<ContinuationToken>,
    /// Rows per page, if this step needs fewer than the scan's page size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_rows: Option<usize>,
}

/// A part of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Partitions whose keys begin with a prefix. After a page, the rest is cut into parts, see [`super::execute()`].
    Prefix {
        /// The prefix of all keys within the bounds.
        prefix: String,
        /// The bounds of the PartitionKeys.
        bounds: Bounds,
    },
    /// Partitions, read page after page.
    Range {
        /// The bounds of the PartitionKeys.
        bounds: Bounds,
    },
    /// Rows of one partition, read page after page.
    Partition {
        /// Its PartitionKey.
        key: String,
        /// The part begins after this RowKey; `None` for the whole partition.
        after: Option<String>,
    },
}

impl Step {
    /// A step that begins at the start of its part.
    pub fn new(part: Part) -> Self {
        Self {
            part,
            continuation: None,
            page_rows: None,
        }
    }

    /// The step's id.
    pub fn id(&self) -> StepId {
        let mut hash = Sha256::new();
        // JSON escapes quotes in keys, so two different steps never have the same text.
        let text = serde_json::to_vec(self).expect("a step consists of texts and numbers only");
        hash.update(text);
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&hash.finalize()[..ID_BYTES]);
        StepId(id)
    }

    /// The `$filter` that selects the rows of the part that pass `extra`; `None` for the whole table.
    pub fn filter(&self, extra: Option<&str>) -> Option<String> {
        let conditions = self.part.conditions();
        let bounds = (!conditions.is_empty()).then(|| Filter::And(conditions).to_string());
        match (bounds, extra) {
            (Some(bounds), Some(extra)) => Some(format!("{bounds} and ({extra})")),
            (bounds, extra) => bounds.or_else(|| extra.map(str::to_owned)),
        }
    }
}

impl Part {
    /// Whether a row with these keys lies within the part.
    pub fn contains(&self, partition_key: &str, row_key: &str) -> bool {
        match self {
            Self::Prefix { bounds, .. } | Self::Range { bounds } => bounds.contains(partition_key),
            Self::Partition { key, after } => {
                let is_later = |after: &String| compare_utf16(row_key, after).is_gt();
                partition_key == key && after.as_ref().is_none_or(is_later)
            }
        }
    }

    fn conditions(&self) -> Vec<Filter> {
        match self {
            Self::Prefix { bounds, .. } | Self::Range { bounds } => bounds.conditions(),
            Self::Partition { key, after } => {
                let partition = condition(Property::PartitionKey, Comparison::Equal, key);
                let after = after.as_ref();
                let rows = after.map(|key| condition(Property::RowKey, Comparison::Greater, key));
                std::iter::once(partition).chain(rows).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Lower, Upper};
    use super::*;

    fn prefix() -> Step {
        Step::new(Part::Prefix {
            prefix: "O'".to_owned(),
            bounds: Bounds {
                lower: Lower::After("O'Hara".to_owned()),
                upper: Upper::of_prefix("O'"),
            },
        })
    }

    fn partition(after: Option<&str>) -> Step {
        Step::new(Part::Partition {
            key: "Davis".to_owned(),
            after: after.map(str::to_owned),
        })
    }

    #[test]
    fn filters() {
        let cases = [
            (
                prefix(),
                None,
                "PartitionKey gt 'O''Hara' and PartitionKey lt 'O('",
            ),
            (partition(None), None, "PartitionKey eq 'Davis'"),
            (
                partition(Some("Gemma")),
                Some("n eq 1 or n eq 2"),
                "PartitionKey eq 'Davis' and RowKey gt 'Gemma' and (n eq 1 or n eq 2)",
            ),
        ];
        for (step, extra, expected) in cases {
            assert_eq!(step.filter(extra).as_deref(), Some(expected));
        }
        let whole = Step::new(Part::Range {
            bounds: Bounds::default(),
        });
        assert_eq!(whole.filter(None), None);
        assert_eq!(whole.filter(Some("n eq 1")).as_deref(), Some("n eq 1"));
    }

    #[test]
    fn the_stored_form() {
        let text = serde_json::to_string(&prefix()).unwrap();
        let expected = r#"{"part":{"prefix":{"prefix":"O'","bounds":{"lower":{"after":"O'Hara"},"upper":{"before":"O("}}}}}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), prefix());
        let partition = serde_json::to_string(&partition(None)).unwrap();
        assert_eq!(
            partition,
            r#"{"part":{"partition":{"key":"Davis","after":null}}}"#
        );
    }

    #[test]
    fn equal_steps_have_equal_ids_and_different_steps_do_not() {
        assert_eq!(prefix().id(), prefix().id());
        let mut later = partition(None);
        later.page_rows = Some(2);
        let ids = [prefix(), partition(None), partition(Some("")), later].map(|step| step.id());
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(id));
        }
    }
}
