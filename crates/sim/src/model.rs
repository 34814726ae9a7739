//! The model of a session's rows, which every answer is compared with.
//!
//! A session owns its rows and sends one request at a time, so the answers determine every row exactly.

use std::collections::BTreeMap;

use partita_model::DateTime;

/// The keys of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) table: String,
    pub(crate) partition: String,
    pub(crate) row: String,
}

/// The properties of a row; `None` for an absent property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) number: Option<i64>,
    pub(crate) text: Option<String>,
}

/// A row as the server returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) etag: String,
    pub(crate) values: Values,
}

/// The kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowChange {
    Insert,
    Replace,
    Merge,
    InsertOrReplace,
    InsertOrMerge,
    Delete,
}

/// A write of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) key: Key,
    pub(crate) change: RowChange,
    pub(crate) values: Values,
    /// The value of `If-Match`, `*` for any ETag; `None` for kinds of writes without a condition.
    pub(crate) if_match: Option<String>,
}

/// An error answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
}

impl Refusal {
    pub(crate) const TABLE_EXISTS: Self = Self::new(409, "TableAlreadyExists");
    pub(crate) const NOT_FOUND: Self = Self::new(404, "ResourceNotFound");
    const EXISTS: Self = Self::new(409, "EntityAlreadyExists");
    const NOT_MATCHED: Self = Self::new(412, "UpdateConditionNotSatisfied");

    const fn new(status: u16, code: &'static str) -> Self {
        Self { status, code }
    }
}

impl RowChange {
    /// Whether the row must exist and match an ETag.
    pub(crate) fn has_condition(self) -> bool {
        matches!(self, Self::Replace | Self::Merge | Self::Delete)
    }

    /// The status of a success.
    pub(crate) fn success(self) -> u16 {
        if self == Self::Insert { 201 } else { 204 }
    }
}

/// The expected rows of a session, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    rows: BTreeMap<Key, Row>,
}

impl Model {
    /// A row.
    pub(crate) fn get(&self, key: &Key) -> Option<&Row> {
        self.rows.get(key)
    }

    /// All rows, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }

    /// The row after the write: `None` after a deletion.
    ///
    /// # Errors
    /// The refusal that the server must answer.
    pub(crate) fn expect(&self, write: &Write) -> Result<Option<Values>, Refusal> {
        let row = self.rows.get(&write.key);
        let given = write.values.clone();
        let merged = || {
            let before = row.map(|row| row.values.clone()).unwrap_or_default();
            Values {
                number: given.number.or(before.number),
                text: given.text.clone().or(before.text),
            }
        };
        if write.change.has_condition() {
            let row = row.ok_or(Refusal::NOT_FOUND)?;
            let condition = write.if_match.as_deref();
            if condition != Some("*") && condition != Some(&row.etag) {
                return Err(Refusal::NOT_MATCHED);
            }
        }
        match write.change {
            RowChange::Insert if row.is_some() => Err(Refusal::EXISTS),
            RowChange::Insert | RowChange::InsertOrReplace | RowChange::Replace => Ok(Some(given)),
            RowChange::InsertOrMerge | RowChange::Merge => Ok(Some(merged())),
            RowChange::Delete => Ok(None),
        }
    }

    /// Records an acknowledged write: the new row, with the ETag of the answer.
    ///
    /// # Errors
    /// If the ETag is not later than the row's previous one.
    pub(crate) fn acknowledge(
        &mut self,
        key: &Key,
        left: Option<Values>,
        etag: Option<String>,
    ) -> Result<(), String> {
        let Some(values) = left else {
            self.rows.remove(key);
            return Ok(());
        };
        let etag = etag.ok_or_else(|| format!("{key:?}: a write without an ETag"))?;
        let time = time_of(&etag).ok_or_else(|| format!("{key:?}: ETag {etag} has no time"))?;
        let last = self.rows.get(key).map(|row| &row.etag);
        if last
            .and_then(|last| time_of(last))
            .is_some_and(|last| last >= time)
        {
            return Err(format!("{key:?}: ETag {etag} after {last:?}"));
        }
        self.rows.insert(key.clone(), Row { etag, values });
        Ok(())
    }
}

/// The time in an ETag: `W/"datetime'2000-01-01T00%3A00%3A00Z'"`.
fn time_of(etag: &str) -> Option<DateTime> {
    let time = etag.strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?;
    DateTime::parse(&time.replace("%3A", ":")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ETag of a second.
    fn etag(second: u32) -> String {
        format!("W/\"datetime'2000-01-01T00%3A00%3A{second:02}.5Z'\"")
    }

    fn key() -> Key {
        Key {
            table: "t".to_owned(),
            partition: "p".to_owned(),
            row: "r".to_owned(),
        }
    }

    fn write(change: RowChange, if_match: Option<&str>) -> Write {
        Write {
            key: key(),
            change,
            values: Values {
                number: Some(2),
                text: None,
            },
            if_match: if_match.map(str::to_owned),
        }
    }

    fn values(number: i64, text: Option<&str>) -> Values {
        Values {
            number: Some(number),
            text: text.map(str::to_owned),
        }
    }

    #[test]
    fn writes_of_an_absent_row() {
        let model = Model::default();
        for change in [
            RowChange::Insert,
            RowChange::InsertOrReplace,
            RowChange::InsertOrMerge,
        ] {
            assert_eq!(
                model.expect(&write(change, None)),
                Ok(Some(values(2, None)))
            );
        }
        for change in [RowChange::Replace, RowChange::Merge, RowChange::Delete] {
            let refused = model.expect(&write(change, Some("*")));
            assert_eq!(refused, Err(Refusal::NOT_FOUND));
        }
    }

    #[test]
    fn writes_of_a_present_row() {
        let mut model = Model::default();
        let first = Some(values(1, Some("a")));
        model.acknowledge(&key(), first, Some(etag(1))).unwrap();
        let (now, before) = (&*etag(1), &*etag(0));
        let (replaced, merged) = (Ok(Some(values(2, None))), Ok(Some(values(2, Some("a")))));
        let not_matched = Err(Refusal::NOT_MATCHED);
        for (change, if_match, expected) in [
            (RowChange::Insert, None, Err(Refusal::EXISTS)),
            (RowChange::InsertOrReplace, None, replaced.clone()),
            (RowChange::InsertOrMerge, None, merged.clone()),
            (RowChange::Replace, Some(now), replaced.clone()),
            (RowChange::Replace, Some("*"), replaced),
            (RowChange::Replace, Some(before), not_matched.clone()),
            (RowChange::Merge, Some(now), merged),
            (RowChange::Merge, Some(before), not_matched.clone()),
            (RowChange::Delete, Some(now), Ok(None)),
            (RowChange::Delete, Some(before), not_matched),
        ] {
            assert_eq!(
                model.expect(&write(change, if_match)),
                expected,
                "{change:?}"
            );
        }
    }

    #[test]
    fn an_etag_that_is_not_later_is_refused() {
        let mut model = Model::default();
        let mut acknowledge = |etag| model.acknowledge(&key(), Some(values(1, None)), etag);
        assert!(acknowledge(Some(etag(2))).is_ok());
        assert!(acknowledge(Some(etag(2))).is_err());
        assert!(acknowledge(Some(etag(1))).is_err());
        assert!(acknowledge(Some(etag(3))).is_ok());
        assert!(acknowledge(None).is_err());
        assert!(acknowledge(Some("W/\"other\"".to_owned())).is_err());
        assert!(model.acknowledge(&key(), None, None).is_ok());
        assert_eq!(model.get(&key()), None);
    }
}
