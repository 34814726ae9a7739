//! Reads the steps of a migration file.

use super::super::{
    Operation, PropertyChange, RowSelection, Steps, Template, Transform, WriteRows,
};
use super::fields::{Fields, alike};
use super::{FileError, values};
use partita_client::{Entity, UpdateMode};

/// The operations, each with its keys. The key `operation`, which all have, is not listed.
const OPERATIONS: [(&str, &[&str]); 9] = [
    ("create_table", &["table"]),
    ("delete_table", &["table"]),
    ("rename_table", &["from", "to"]),
    ("copy_table", &["from", "to"]),
    ("insert", &["table", "rows", "create_table"]),
    ("upsert", &["table", "rows", "mode", "create_table"]),
    ("delete", &["table", "rows", "partition_key", "row_key"]),
    ("clear", &["table"]),
    (
        "transform",
        &[
            "table",
            "to",
            "filter",
            "rename",
            "retype",
            "drop",
            "add",
            "partition_key",
            "row_key",
        ],
    ),
];

/// Reads the steps of one direction, `up` or `down`.
pub(super) fn read(tables: &[Fields<'_>]) -> Result<Steps, FileError> {
    let mut steps = Steps::default();
    for fields in tables {
        steps = add(steps, fields)?;
        if let Some(operation) = steps.operations().last() {
            operation.check().map_err(|what| {
                fields.error(&fields.span, &format!("{}: {what}", operation.name()))
            })?;
        }
    }
    Ok(steps)
}

fn add(steps: Steps, fields: &Fields<'_>) -> Result<Steps, FileError> {
    let (name, span) = fields.required("operation")?;
    let names = OPERATIONS.map(|(name, _)| name);
    let Some((_, keys)) = OPERATIONS.iter().find(|(known, _)| *known == name) else {
        let what = match alike(name, &names) {
            Some(meant) => format!("unknown operation {name:?}; did you mean {meant}?"),
            None => format!(
                "unknown operation {name:?}; expected one of {}",
                names.join(", ")
            ),
        };
        return Err(fields.error(&span, &what));
    };
    let known: Vec<&str> = std::iter::once("operation")
        .chain(keys.iter().copied())
        .collect();
    fields.check_known(&known)?;
    let text = |key: &str| Ok::<_, FileError>(fields.required(key)?.0.to_owned());
    Ok(match name {
        "create_table" => steps.create_table(text("table")?),
        "delete_table" => steps.delete_table(text("table")?),
        "rename_table" => steps.rename_table(text("from")?, text("to")?),
        "copy_table" => steps.copy_table(text("from")?, text("to")?),
        "insert" | "upsert" => steps.step(Operation::Write(WriteRows {
            table: text("table")?,
            rows: rows(fields)?,
            update: (name == "upsert").then(|| mode(fields)).transpose()?,
            create_table: fields.boolean("create_table")?,
        })),
        "delete" => steps.step(Operation::Delete {
            table: text("table")?,
            rows: selection(fields)?,
        }),
        "clear" => steps.clear(text("table")?),
        _ => steps.transform(transform(fields)?),
    })
}

fn rows(fields: &Fields<'_>) -> Result<Vec<Entity>, FileError> {
    let rows = fields
        .tables("rows")?
        .ok_or_else(|| fields.missing("rows"))?;
    rows.iter().map(values::row).collect()
}

fn mode(fields: &Fields<'_>) -> Result<UpdateMode, FileError> {
    match fields.string("mode")? {
        None | Some(("merge", _)) => Ok(UpdateMode::Merge),
        Some(("replace", _)) => Ok(UpdateMode::Replace),
        Some((_, span)) => Err(fields.error(&span, "mode must be \"merge\" or \"replace\"")),
    }
}

fn selection(fields: &Fields<'_>) -> Result<RowSelection, FileError> {
    let partition_key = fields.string("partition_key")?;
    let row_key = fields.string("row_key")?;
    let rows = fields.tables("rows")?;
    match (rows, partition_key, row_key) {
        (Some(rows), None, None) => {
            let keys = rows.iter().map(|row| {
                row.check_known(&["PartitionKey", "RowKey"])?;
                let [partition, row] = ["PartitionKey", "RowKey"].map(|key| row.required(key));
                Ok((partition?.0.to_owned(), row?.0.to_owned()))
            });
            Ok(RowSelection::Keys(keys.collect::<Result<_, FileError>>()?))
        }
        (None, Some((partition, _)), None) => Ok(RowSelection::Partition(partition.to_owned())),
        (None, Some((partition, _)), Some((row, _))) => {
            Ok(RowSelection::Keys(vec![(partition.to_owned(), row.to_owned())]))
        }
        _ => Err(fields.error(
            &fields.span,
            "delete needs partition_key, or partition_key and row_key, or rows; use clear to delete all rows",
        )),
    }
}

/// Reads a transform. Its changes run in this order: rename, retype, drop, add. So a drop and an add of the same
/// property replace its value.
fn transform(fields: &Fields<'_>) -> Result<Transform, FileError> {
    let mut changes = Vec::new();
    let each = |key: &str| {
        let table = fields.table(key)?;
        Ok::<_, FileError>(table.map_or_else(Vec::new, |table| {
            let fields = table.each();
            fields
                .into_iter()
                .map(|field| (table.clone(), field))
                .collect()
        }))
    };
    for (table, (from, _, value)) in each("rename")? {
        let to = value.get_ref().as_str().ok_or_else(|| {
            table.error(
                &value.span(),
                &format!("{from} must be a string: the new name"),
            )
        })?;
        changes.push(PropertyChange::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        });
    }
    for (table, (name, _, value)) in each("retype")? {
        let edm = match value.get_ref().as_str() {
            Some(word) => values::of_word(word),
            None => Err(format!("{name} must be a string: the new type")),
        };
        changes.push(PropertyChange::Retype {
            name: name.to_owned(),
            edm: edm.map_err(|what| table.error(&value.span(), &what))?,
        });
    }
    for name in fields.strings("drop")? {
        changes.push(PropertyChange::Drop {
            name: name.to_owned(),
        });
    }
    for (table, (key, span, value)) in each("add")? {
        let (name, value) = values::property(&table, key, &span, value.get_ref(), &value.span())?;
        changes.push(PropertyChange::Add { name, value });
    }
    let text = |key: &str| Ok::<_, FileError>(fields.string(key)?.map(|(text, _)| text.to_owned()));
    Ok(Transform {
        table: fields.required("table")?.0.to_owned(),
        to: text("to")?,
        filter: text("filter")?,
        changes,
        partition_key: template(fields, "partition_key")?,
        row_key: template(fields, "row_key")?,
    })
}

fn template(fields: &Fields<'_>, key: &str) -> Result<Option<Template>, FileError> {
    let Some((text, span)) = fields.string(key)? else {
        return Ok(None);
    };
    let template = text.parse();
    template
        .map(Some)
        .map_err(|error| fields.error(&span, &format!("{key}: {error}")))
}
