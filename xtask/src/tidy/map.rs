//! The map in `ARCHITECTURE.md`: its table has a row for every crate, and its column *may depend on* agrees with
//! `tidy.toml`.
//!
//! The column *may depend on* is read as a list between commas:
//!
//! | text | means |
//! | --- | --- |
//! | `–` | no crate of this project |
//! | names in backquotes | these crates |
//! | names, then `and below` | these crates, and those that their own rows list |
//! | `not`, then names | without these crates |
//! | `all of the above` | the crates of all rows above |

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use super::Finding;
use super::settings::Settings;
use super::tree::{Tree, package_name};

const FILE: &str = "ARCHITECTURE.md";

/// The beginning of the table's first line.
const HEADER: &str = "| crate |";

/// Crates by the names of their folders.
type Names = BTreeSet<String>;

/// A row of the table.
struct Row {
    name: String,
    may_depend_on: String,
    line: usize,
}

pub(super) fn check(tree: &Tree, settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let map = tree
        .get(FILE)
        .with_context(|| format!("{FILE} is missing"))?;
    let rows = rows(&map.text);
    let packages = packages(tree)?;
    let mut findings = Vec::new();
    if rows.is_empty() {
        let text = format!("no table begins with {HEADER:?}");
        findings.push(Finding::new(FILE, 0, text));
    }
    for name in packages.keys() {
        if !rows.iter().any(|row| row.name == *name) {
            let text = format!("crates/{name} has no row in the table of crates");
            findings.push(Finding::new(FILE, 0, text));
        }
    }
    let mut known: BTreeMap<String, Names> = BTreeMap::new();
    for row in &rows {
        let mut report = |text| findings.push(Finding::new(FILE, row.line, text));
        let listed = match may_depend_on(&row.may_depend_on, &known) {
            Ok(listed) => listed,
            Err(text) => {
                report(format!("{}: {text}", row.name));
                Names::new()
            }
        };
        match packages.get(&row.name) {
            None => report(format!("there is no crates/{}", row.name)),
            Some(package) => {
                let arrows = arrows(settings, package, &packages);
                for name in listed.difference(&arrows) {
                    report(format!(
                        "{}: tidy.toml allows no dependency on {name}",
                        row.name
                    ));
                }
                for name in arrows.difference(&listed) {
                    let row = &row.name;
                    report(format!(
                        "{row}: tidy.toml allows a dependency on {name}, the table does not"
                    ));
                }
            }
        }
        known.insert(row.name.clone(), listed);
    }
    Ok(findings)
}

/// The rows of the table of crates.
fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().zip(1..);
    let table = lines
        .skip_while(|(line, _)| !line.starts_with(HEADER))
        .take_while(|(line, _)| line.starts_with('|'));
    let rows = table.skip(2).map(|(line, number)| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        Row {
            name: cells
                .first()
                .map_or("", |cell| cell.trim_matches('`'))
                .to_owned(),
            may_depend_on: cells.last().copied().unwrap_or_default().to_owned(),
            line: number,
        }
    });
    rows.collect()
}

/// The package names of the crates, by the names of their folders.
fn packages(tree: &Tree) -> anyhow::Result<BTreeMap<String, String>> {
    let mut packages = BTreeMap::new();
    for file in tree.files() {
        let folder = file.path.strip_prefix("crates/");
        let Some(folder) = folder.and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let manifest = file.manifest()?;
        let package = package_name(&manifest);
        let package = package.with_context(|| format!("{} names no package", file.path))?;
        packages.insert(folder.to_owned(), package.to_owned());
    }
    Ok(packages)
}

/// The crates that a package may depend on by `tidy.toml`.
fn arrows(settings: &Settings, package: &str, packages: &BTreeMap<String, String>) -> Names {
    let below = settings.arrows.get(package).map_or(&[][..], Vec::as_slice);
    let is_below = |(_, package): &(&String, &String)| below.contains(*package);
    let found = packages.iter().filter(is_below);
    found.map(|(name, _)| name.clone()).collect()
}

/// Reads the column *may depend on* of a row; `known` has the rows above it.
fn may_depend_on(text: &str, known: &BTreeMap<String, Names>) -> Result<Names, String> {
    let mut listed = Names::new();
    for part in text.split(',').map(str::trim) {
        if part == "–" {
            continue;
        }
        if part == "all of the above" {
            listed.extend(known.keys().cloned());
            continue;
        }
        let (names, words) = names(part);
        match words.as_str() {
            "" => listed.extend(names),
            "not" => listed.retain(|name| !names.contains(name)),
            "and below" => {
                for name in names {
                    let below = known.get(&name);
                    let below = below.ok_or_else(|| {
                        format!("\"{name} and below\" needs a row of {name} above")
                    })?;
                    listed.extend(below.iter().cloned());
                    listed.insert(name);
                }
            }
            words => {
                return Err(format!(
                    "the column \"may depend on\" cannot be read: {words:?}"
                ));
            }
        }
    }
    Ok(listed)
}

/// The names in backquotes, and the words outside them.
fn names(part: &str) -> (Vec<String>, String) {
    let mut names = Vec::new();
    let mut words = Vec::new();
    for (piece, is_name) in part.split('`').zip([false, true].into_iter().cycle()) {
        if is_name {
            names.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace());
        }
    }
    (names, words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARROWS: &str =
        "[arrows]\np-low = []\np-side = []\np-mid = ['p-low']\np-high = ['p-mid', 'p-low']";

    fn texts(rows: &str) -> Vec<String> {
        let map = format!(
            "# Map\n\n| crate | what | may depend on |\n| --- | --- | --- |\n{rows}\n\nEnd"
        );
        let manifests = ["low", "side", "mid", "high"].map(|name| {
            let path = format!("crates/{name}/Cargo.toml");
            (path, format!("[package]\nname = 'p-{name}'"))
        });
        let mut files: Vec<(&str, &str)> = manifests
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        files.push((FILE, &map));
        let settings = Settings::parse(ARROWS).unwrap();
        super::super::texts(check(&Tree::of(&files), &settings).unwrap())
    }

    #[test]
    fn a_correct_map_passes() {
        for high in [
            "`mid` and below",
            "`mid` `low`",
            "all of the above, not `side`",
        ] {
            let rows = format!(
                "| `low` | a | – |\n| `side` | a | – |\n| `mid` | a | `low` |\n| `high` | a | {high} |"
            );
            assert_eq!(texts(&rows), [] as [&str; 0], "{high}");
        }
    }

    #[test]
    fn each_difference_is_named() {
        let rows = "| `low` | a | – |\n| `mid` | a | `side` |\n| `high` | a | `gone` and below |\n| `new` | a | a few |";
        assert_eq!(
            texts(rows),
            [
                "crates/side has no row in the table of crates",
                "mid: tidy.toml allows no dependency on side",
                "mid: tidy.toml allows a dependency on low, the table does not",
                "high: \"gone and below\" needs a row of gone above",
                "high: tidy.toml allows a dependency on low, the table does not",
                "high: tidy.toml allows a dependency on mid, the table does not",
                "new: the column \"may depend on\" cannot be read: \"a few\"",
                "there is no crates/new",
            ]
        );
    }

    #[test]
    fn a_missing_table_is_named() {
        let tree = Tree::of(&[(FILE, "# Map\n")]);
        let findings = check(&tree, &Settings::default()).unwrap();
        assert_eq!(findings.len(), 1);
    }
}
