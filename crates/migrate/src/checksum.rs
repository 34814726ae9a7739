//! Checksums of migrations. They do not depend on the layout and comments of a file.
//!
//! SHA-256 over fields, each as its name, the length of its text in bytes, and its text, so that different migrations
//! never give the same bytes. Rows are the protocol's JSON with their properties in the order of their names. Users'
//! tables store checksums, so the form must not change.

use super::{Operation, PropertyChange, RowSelection, Template, Transform};
use partita_bulk::hex;
use partita_client::{Entity, UpdateMode, Value};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The checksum of a migration: SHA-256 as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum(pub String);

impl Checksum {
    /// The first 12 digits, for messages.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Computes the checksum of a migration.
pub(super) struct Digest(Sha256);

impl Digest {
    pub(super) fn new(version: u64, id: &str) -> Self {
        let mut digest = Self(Sha256::new());
        digest.field("version", &version.to_string());
        digest.field("id", id);
        digest
    }

    pub(super) fn steps(&mut self, direction: &str, operations: &[Operation]) {
        self.field(direction, &operations.len().to_string());
        for operation in operations {
            self.operation(operation);
        }
    }

    pub(super) fn finish(self) -> Checksum {
        Checksum(hex(self.0.finalize()))
    }

    fn field(&mut self, name: &str, text: &str) {
        self.0.update(format!("{name}:{}:", text.len()));
        self.0.update(text);
        self.0.update("\n");
    }

    fn operation(&mut self, operation: &Operation) {
        self.field("operation", operation.name());
        match operation {
            Operation::CreateTable { table } | Operation::DeleteTable { table } => {
                self.field("table", table);
            }
            Operation::RenameTable { from, to } | Operation::CopyTable { from, to } => {
                self.field("from", from);
                self.field("to", to);
            }
            Operation::Write(write) => {
                self.field("table", &write.table);
                self.field("create_table", &write.create_table.to_string());
                match write.update {
                    None => {}
                    Some(UpdateMode::Merge) => self.field("mode", "merge"),
                    Some(UpdateMode::Replace) => self.field("mode", "replace"),
                }
                self.rows(&write.rows);
            }
            Operation::Delete { table, rows } => {
                self.field("table", table);
                self.selection(rows);
            }
            Operation::Transform(transform) => self.transform(transform),
        }
    }

    fn rows(&mut self, rows: &[Entity]) {
        self.field("rows", &rows.len().to_string());
        for row in rows {
            let mut properties: Vec<_> = row.iter().collect();
            properties.sort_by_key(|(name, _)| *name);
            let mut json = Vec::new();
            let properties = properties
                .iter()
                .map(|(name, value)| (*name, value.as_ref()));
            partita_wire::table::write_entity(
                row.partition_key(),
                row.row_key(),
                properties,
                &mut json,
            );
            self.field("row", &String::from_utf8_lossy(&json));
        }
    }

    fn selection(&mut self, rows: &RowSelection) {
        match rows {
            RowSelection::Keys(keys) => {
                self.field("keys", &keys.len().to_string());
                for (partition_key, row_key) in keys {
                    self.field("PartitionKey", partition_key);
                    self.field("RowKey", row_key);
                }
            }
            RowSelection::Partition(key) => self.field("PartitionKey", key),
            RowSelection::All => {}
        }
    }

    fn transform(&mut self, transform: &Transform) {
        let Transform {
            table,
            to,
            filter,
            changes,
            partition_key,
            row_key,
        } = transform;
        self.field("table", table);
        let template = |template: &Option<Template>| template.as_ref().map(ToString::to_string);
        for (name, text) in [
            ("to", to.clone()),
            ("filter", filter.clone()),
            ("partition_key", template(partition_key)),
            ("row_key", template(row_key)),
        ] {
            if let Some(text) = text {
                self.field(name, &text);
            }
        }
        for change in changes {
            match change {
                PropertyChange::Add { name, value } => {
                    self.field("add", name);
                    self.value(value);
                }
                PropertyChange::Rename { from, to } => {
                    self.field("rename", from);
                    self.field("to", to);
                }
                PropertyChange::Retype { name, edm } => {
                    self.field("retype", name);
                    self.field("type", edm.name());
                }
                PropertyChange::Drop { name } => self.field("drop", name),
            }
        }
    }

    fn value(&mut self, value: &Value) {
        let mut text = String::new();
        partita_wire::table::push_value_text(value.as_ref(), &mut text);
        self.field(value.edm_type().name(), &text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Migration;
    use super::*;
    use std::collections::HashSet;

    fn row(age: impl Into<Value>) -> Entity {
        let mut row = Entity::new("p", "r");
        row.insert("Age", age).insert("A", "x");
        row
    }

    #[test]
    fn different_migrations_have_different_checksums() {
        let new = || Migration::new(1, "a");
        let transform = |change: fn(&mut Transform)| {
            let mut transform = Transform::of("t");
            change(&mut transform);
            new().transform(transform)
        };
        let all = [
            new(),
            Migration::new(2, "a"),
            Migration::new(1, "b"),
            new().create_table("t"),
            new().create_table("T"),
            new().delete_table("t"),
            new().create_table("t").delete_table("t"),
            new().create_table("t").down(|down| down.delete_table("t")),
            new().create_table("t").down(|down| down),
            new().rename_table("t", "u"),
            new().rename_table("u", "t"),
            new().copy_table("t", "u"),
            new().insert("t", [row(1)]),
            new().insert("t", [row(1_i64)]),
            new().insert("t", [row("1")]),
            new().insert("t", [row(1), row(1)]),
            new().create_and_insert("t", [row(1)]),
            new().upsert("t", [row(1)], UpdateMode::Merge),
            new().upsert("t", [row(1)], UpdateMode::Replace),
            new().delete_entities("t", [row(1)]),
            new().delete_row("t", "p", "rx"),
            new().delete_row("t", "pr", "x"),
            new().delete_partition("t", "p"),
            new().clear("t"),
            transform(|_| ()),
            transform(|it| it.to = Some("u".to_owned())),
            transform(|it| it.filter = Some("u".to_owned())),
            transform(|it| it.row_key = "u".parse().ok()),
            transform(|it| it.partition_key = "u".parse().ok()),
            transform(|it| {
                it.changes.push(PropertyChange::Drop {
                    name: "A".to_owned(),
                })
            }),
            transform(|it| {
                it.changes.push(PropertyChange::Add {
                    name: "A".to_owned(),
                    value: 1.into(),
                });
            }),
            transform(|it| {
                it.changes.push(PropertyChange::Add {
                    name: "A".to_owned(),
                    value: "1".into(),
                });
            }),
        ];
        let checksums: HashSet<_> = all
            .iter()
            .map(|migration| migration.checksum().to_string())
            .collect();
        assert_eq!(checksums.len(), all.len());
    }

    #[test]
    fn description_and_order_of_properties_do_not_change_the_checksum() {
        let mut reordered = Entity::new("p", "r");
        reordered.insert("A", "x").insert("Age", 1);
        let first = Migration::new(1, "a").insert("t", [row(1)]);
        let second = Migration::new(1, "a")
            .description("b")
            .insert("t", [reordered]);
        assert_eq!(first.checksum(), second.checksum());
    }

    /// Users' tables store checksums, so this value must never change.
    #[test]
    fn the_form_is_stable() {
        let migration = Migration::new(7, "é")
            .create_table("t")
            .insert("t", [row(1_i64)])
            .down(|down| down.delete_table("t"));
        assert_eq!(
            migration.checksum().0,
            "5a219d67f26b9e6167a2a74ec185f4d4369895aa2c8a140f8d53957fd476860b"
        );
    }
}
