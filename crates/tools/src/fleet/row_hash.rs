//! An order-free hash of rows: the sum of a hash of each row, modulo 2^128. Sums of disjoint parts of a table add up to
//! the sum of the table, in any order. A row that is missing, counted twice or different changes the sum.

use partita_client::{Entity, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::ops::AddAssign;

/// The hash of a set of rows; the default is the hash of no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowHash(u128);

impl RowHash {
    /// The hash of one row's keys.
    pub fn of_keys(partition_key: &str, row_key: &str) -> Self {
        let mut hash = Sha256::new();
        push(&mut hash, partition_key.as_bytes());
        push(&mut hash, row_key.as_bytes());
        Self::of(hash)
    }

    /// The hash of one row: its keys and properties, in any order, without Timestamp and ETag.
    pub fn of_entity(entity: &Entity) -> Self {
        let mut hash = Sha256::new();
        push(&mut hash, entity.partition_key().as_bytes());
        push(&mut hash, entity.row_key().as_bytes());
        let mut properties: Vec<_> = entity.iter().collect();
        properties.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in properties {
            push(&mut hash, name.as_bytes());
            hash.update([value.edm_type() as u8]);
            push_value(&mut hash, value);
        }
        Self::of(hash)
    }

    fn of(hash: Sha256) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        Self(u128::from_be_bytes(bytes))
    }
}

/// Adds bytes with their length, so that two different lists of texts never have the same bytes.
fn push(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

fn push_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::String(text) => push(hash, text.as_bytes()),
        Value::Binary(bytes) => push(hash, bytes),
        Value::Boolean(value) => hash.update([u8::from(*value)]),
        Value::Int32(value) => hash.update(value.to_be_bytes()),
        Value::Int64(value) => hash.update(value.to_be_bytes()),
        Value::Double(value) if value.is_nan() => hash.update(f64::NAN.to_bits().to_be_bytes()),
        // Minus zero equals zero, as the service stores it.
        Value::Double(value) => hash.update((value + 0.0).to_bits().to_be_bytes()),
        Value::DateTime(value) => hash.update(value.ticks().to_be_bytes()),
        Value::Guid(value) => hash.update(value.0),
    }
}

impl AddAssign for RowHash {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Display for RowHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for RowHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RowHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rows: &[&Entity]) -> RowHash {
        let mut sum = RowHash::default();
        rows.iter().for_each(|row| sum += RowHash::of_entity(row));
        sum
    }

    #[test]
    fn the_order_of_rows_and_properties_does_not_matter() {
        let mut a = Entity::new("p", "1");
        a.insert("x", 1).insert("y", -0.0);
        let mut same = Entity::new("p", "1");
        same.insert("y", 0.0).insert("x", 1);
        let b = Entity::new("p", "2");
        assert_eq!(sum(&[&a, &b]), sum(&[&b, &same]));
        let text = serde_json::to_string(&sum(&[&a])).unwrap();
        assert_eq!(
            serde_json::from_str::<RowHash>(&text).unwrap(),
            sum(&[&same])
        );
    }

    #[test]
    fn other_rows_have_other_hashes() {
        let mut a = Entity::new("p", "1");
        a.insert("x", 1);
        let mut typed = Entity::new("p", "1");
        typed.insert("x", 1_i64);
        let mut named = Entity::new("p", "1");
        named.insert("z", 1);
        let rows = [
            a,
            typed,
            named,
            Entity::new("p", "1"),
            Entity::new("", "p1"),
        ];
        for (at, row) in rows.iter().enumerate() {
            assert!(rows[..at].iter().all(|other| sum(&[row]) != sum(&[other])));
            assert_ne!(sum(&[row, row]), sum(&[row]));
        }
        assert_ne!(RowHash::of_keys("a", "b"), RowHash::of_keys("ab", ""));
    }
}
