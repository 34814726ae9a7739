//! A table of packages and their versions, as in a package index: the PartitionKey is the id of a package, the RowKey one
//! of its versions. It has one partition for about 34 rows. Most partitions are short, and one of a thousand has more rows
//! than a page.
//!
//! Every row is a function of its number, so that a test can compare rows without keeping them.

use std::net::SocketAddr;

use partita_load::mix;
use serde_json::{Map, Value, json};

use crate::Account;
use crate::client::Client;
use crate::prepare::{BATCH_ROWS, create_table, insert_entities, on_connections};

/// The words of ids. Their first characters are as uneven as those of a package index.
const WORDS: [&str; 32] = [
    "system",
    "microsoft",
    "json",
    "http",
    "core",
    "client",
    "azure",
    "storage",
    "table",
    "queue",
    "logging",
    "test",
    "mock",
    "data",
    "sql",
    "entity",
    "web",
    "api",
    "auth",
    "cache",
    "xml",
    "yaml",
    "parser",
    "graph",
    "mapper",
    "stream",
    "metrics",
    "tools",
    "build",
    "unity",
    "net",
    "extensions",
];

/// Of so many packages, one has [`LONG`] versions.
const LONG_EVERY: u64 = 1_000;
/// The versions of a package with many: more than a page has rows.
const LONG: u64 = 1_500;
/// The most versions of the other packages.
const SHORT_MAX: u64 = 63;

/// The rows of such a table.
#[derive(Debug, Clone)]
pub struct Packages {
    /// For each package, the number of its first row; at the end, the number of rows.
    starts: Vec<u64>,
}

impl Packages {
    /// The table with exactly this number of rows.
    pub fn new(rows: u64) -> Self {
        let mut starts = vec![0];
        let (mut package, mut end) = (0, 0);
        while end < rows {
            end = rows.min(end + versions(package));
            starts.push(end);
            package += 1;
        }
        Self { starts }
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// The number of packages, each a partition.
    pub fn partitions(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The entity of a row, in the form of an insert and of an answer with minimal metadata.
    pub fn entity(&self, row: u64) -> Map<String, Value> {
        let package = self.starts.partition_point(|start| *start <= row) as u64 - 1;
        let version = row - self.start(package);
        let random = mix(row);
        let entity = json!({
            "PartitionKey": id(package),
            "RowKey": format!("{}.{}.{}", version / 100, version / 10 % 10, version % 10),
            "Created@odata.type": "Edm.DateTime",
            "Created": format!("2024-01-{:02}T03:04:05.{:06}1Z", row % 28 + 1, random % 1_000_000),
            "Size@odata.type": "Edm.Int64",
            "Size": (random % 50_000_000).to_string(),
            "Downloads": random % 100_000,
            "Listed": is_listed(row),
            "Hash": format!("{random:016x}{:016x}", mix(random)),
        });
        match entity {
            Value::Object(entity) => entity,
            _ => Map::new(),
        }
    }

    /// The number of the row with these keys, if the table has it.
    pub fn number(&self, partition_key: &str, row_key: &str) -> Option<u64> {
        let package = package(partition_key)?;
        let mut version = 0;
        for (digits, most) in row_key.split('.').zip([u64::MAX, 9, 9]) {
            let part = digits.parse::<u64>().ok().filter(|part| *part <= most)?;
            version = version * 10 + part;
        }
        let start = *self.starts.get(usize::try_from(package).ok()?)?;
        let row = start.checked_add(version)?;
        let entity = (row < self.rows()).then(|| self.entity(row))?;
        let is_same = entity["PartitionKey"] == partition_key && entity["RowKey"] == row_key;
        is_same.then_some(row)
    }

    /// Creates the table and inserts all rows.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn fill(&self, addr: SocketAddr, account: &Account, table: &str) -> anyhow::Result<()> {
        let mut client = Client::connect(addr, account.clone())?;
        create_table(&mut client, table)?;
        on_connections(addr, account, self.partitions(), |client, package| {
            let rows: Vec<u64> = (self.start(package)..self.start(package + 1)).collect();
            for rows in rows.chunks(BATCH_ROWS as usize) {
                let entities = rows.iter().map(|row| Value::Object(self.entity(*row)));
                let entities: Vec<String> = entities.map(|entity| entity.to_string()).collect();
                insert_entities(client, account, table, &entities)?;
            }
            Ok(())
        })
    }

    fn start(&self, package: u64) -> u64 {
        let start = usize::try_from(package).ok();
        let start = start.and_then(|package| self.starts.get(package));
        start.copied().unwrap_or_else(|| self.rows())
    }
}

/// Whether the property `Listed` of a row is true: for two of three rows.
pub fn is_listed(row: u64) -> bool {
    !mix(row).is_multiple_of(3)
}

fn versions(package: u64) -> u64 {
    match package % LONG_EVERY {
        7 => LONG,
        _ => mix(package) % SHORT_MAX + 1,
    }
}

/// The id of a package: its number, with words for digits, the last one first.
fn id(package: u64) -> String {
    let words = WORDS.len() as u64;
    let word = |digit: u64| WORDS[usize::try_from(digit).unwrap_or_default()];
    let (mut id, mut left) = (word(package % words).to_owned(), package / words);
    while left > 0 {
        id = format!("{id}.{}", word(left % words));
        left /= words;
    }
    id
}

/// The package with an id.
fn package(id: &str) -> Option<u64> {
    let digit = |word: &str| WORDS.iter().position(|other| *other == word);
    id.rsplit('.').try_fold(0_u64, |package, word| {
        package
            .checked_mul(WORDS.len() as u64)?
            .checked_add(digit(word)? as u64)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_its_own_keys() {
        let packages = Packages::new(50_000);
        assert_eq!(packages.rows(), 50_000);
        assert!(packages.partitions() > 50_000 / 35);
        let mut keys = BTreeSet::new();
        for row in 0..50_000 {
            let entity = packages.entity(row);
            let [partition, version] = ["PartitionKey", "RowKey"].map(|key| &entity[key]);
            let [partition, version] = [partition, version].map(|key| key.as_str().unwrap());
            assert_eq!(packages.number(partition, version), Some(row));
            assert!(keys.insert((partition.to_owned(), version.to_owned())));
        }
    }

    #[test]
    fn other_keys_are_no_rows() {
        let packages = Packages::new(1_000);
        assert_eq!(packages.number("system", "0.0.0"), Some(0));
        for (partition, row) in [
            ("system", "00.0.0"),
            ("system", "0.0"),
            ("system", "9.0.0"),
            ("system.system", "0.0.0"),
            ("", ""),
            ("other", "0.0.0"),
        ] {
            assert_eq!(packages.number(partition, row), None, "{partition}/{row}");
        }
    }
}
