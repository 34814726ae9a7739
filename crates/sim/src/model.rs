//! What a session knows of its rows: the plain model that every answer is compared with.
//!
//! A session owns its rows and sends one request at a time, so what it was answered fixes every row exactly.

use std::collections::BTreeMap;

use partita_model::DateTime;

/// The name of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) table: String,
    pub(crate) partition: String,
    pub(crate) row: String,
}

/// The properties of a row, those that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) number: Option<i64>,
    pub(crate) text: Option<String>,
}

/// A row as the server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) etag: String,
    pub(crate) values: Values,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
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
    pub(crate) change: Change,
    pub(crate) values: Values,
    /// The ETag that the row must have, `*` for any; only where `change` takes one.
    pub(crate) if_match: Option<String>,
}

/// An answer that refuses a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
}

impl Refusal {
    const EXISTS: Self = Self::new(409, "EntityAlreadyExists");
    const NOT_FOUND: Self = Self::new(404, "ResourceNotFound");
    const NOT_MATCHED: Self = Self::new(412, "UpdateConditionNotSatisfied");

    const fn new(status: u16, code: &'static str) -> Self {
        Self { status, code }
    }
}

impl Change {
    /// The status of an answer that did it.
    pub(crate) fn done(self) -> u16 {
        if self == Self::Insert { 201 } else { 204 }
    }
}

/// Rows by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    rows: BTreeMap<Key, Row>,
}

impl Model {
    /// The row, if it is there.
    pub(crate) fn get(&self, key: &Key) -> Option<&Row> {
        self.rows.get(key)
    }

    /// All rows, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }

    /// What the write must leave of its row: nothing after a deletion.
    ///
    /// # Errors
    /// How the server must refuse it.
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
        match (write.change, row) {
            (Change::Insert, Some(_)) => return Err(Refusal::EXISTS),
            (Change::Insert, None) | (Change::InsertOrReplace, _) => return Ok(Some(given)),
            (Change::InsertOrMerge, _) => return Ok(Some(merged())),
            (Change::Replace | Change::Merge | Change::Delete, None) => {
                return Err(Refusal::NOT_FOUND);
            }
            (Change::Replace | Change::Merge | Change::Delete, Some(row)) => {
                let asked = write.if_match.as_deref();
                if !matches!(asked, Some("*")) && asked != Some(&row.etag) {
                    return Err(Refusal::NOT_MATCHED);
                }
            }
        }
        Ok(match write.change {
            Change::Replace => Some(given),
            Change::Delete => None,
            _ => Some(merged()),
        })
    }

    /// Takes a write that was done: its row, with the ETag that was answered.
    ///
    /// # Errors
    /// An ETag that is not later than the row's last one.
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

    fn write(change: Change, if_match: Option<&str>) -> Write {
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
            Change::Insert,
            Change::InsertOrReplace,
            Change::InsertOrMerge,
        ] {
            assert_eq!(
                model.expect(&write(change, None)),
                Ok(Some(values(2, None)))
            );
        }
        for change in [Change::Replace, Change::Merge, Change::Delete] {
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
            (Change::Insert, None, Err(Refusal::EXISTS)),
            (Change::InsertOrReplace, None, replaced.clone()),
            (Change::InsertOrMerge, None, merged.clone()),
            (Change::Replace, Some(now), replaced.clone()),
            (Change::Replace, Some("*"), replaced),
            (Change::Replace, Some(before), not_matched.clone()),
            (Change::Merge, Some(now), merged),
            (Change::Merge, Some(before), not_matched.clone()),
            (Change::Delete, Some(now), Ok(None)),
            (Change::Delete, Some(before), not_matched),
        ] {
            assert_eq!(
                model.expect(&write(change, if_match)),
                expected,
                "{change:?}"
            );
        }
    }

    #[test]
    fn an_etag_that_goes_back_is_found() {
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
