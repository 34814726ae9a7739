//! Compares rows, in any order, with those that the table of packages has.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Context, ensure};
use partita_bench::packages::Packages;
use serde_json::Value;

/// The rows that were found.
pub(super) struct Inventory<'a> {
    packages: &'a Packages,
    /// For each row, whether it was found.
    found: Vec<bool>,
}

impl<'a> Inventory<'a> {
    pub(super) fn new(packages: &'a Packages) -> Self {
        let rows = usize::try_from(packages.rows()).unwrap_or_default();
        Self {
            packages,
            found: vec![false; rows],
        }
    }

    /// Adds a row, in the form of an answer or of an exported line. Fails if it is not a row of the table, has other
    /// properties, or was added before.
    pub(super) fn add(&mut self, entity: Value) -> anyhow::Result<()> {
        let Value::Object(mut entity) = entity else {
            anyhow::bail!("not a row: {entity}");
        };
        // What the server adds.
        entity.retain(|name, _| !name.starts_with("odata.") && !name.starts_with("Timestamp"));
        let key = |name| entity.get(name).and_then(Value::as_str).unwrap_or_default();
        let row = self.packages.number(key("PartitionKey"), key("RowKey"));
        let row = row.with_context(|| format!("an unknown row: {entity:?}"))?;
        let expected = self.packages.entity(row);
        ensure!(entity == expected, "{entity:?} instead of {expected:?}");
        let found = usize::try_from(row)
            .ok()
            .and_then(|row| self.found.get_mut(row));
        let found = found.context("a row without a number")?;
        ensure!(!std::mem::replace(found, true), "a row twice: {entity:?}");
        Ok(())
    }

    /// Adds the rows of all files that the manifest of an export names.
    pub(super) fn add_export(&mut self, directory: &Path) -> anyhow::Result<()> {
        let manifest = std::fs::read(directory.join("_manifest.json"))?;
        let manifest: Value = serde_json::from_slice(&manifest).context("reading the manifest")?;
        let parts = manifest["parts"].as_array().context("no parts")?;
        for part in parts {
            let file = part["file"].as_str().context("a part without a file")?;
            let file = std::fs::File::open(directory.join(file))?;
            for line in BufReader::new(file).lines() {
                self.add(serde_json::from_str(&line?)?)?;
            }
        }
        Ok(())
    }

    /// Checks that exactly the rows were found that should be there.
    pub(super) fn expect(self, is_there: impl Fn(u64) -> bool) -> anyhow::Result<()> {
        for (row, found) in (0..).zip(self.found) {
            ensure!(
                found == is_there(row),
                "{}: {:?}",
                if found {
                    "a row that should be gone"
                } else {
                    "a row is missing"
                },
                self.packages.entity(row)
            );
        }
        Ok(())
    }
}
