//! The tests that `docs/reliability.md` names: each exists.
//!
//! The rule reads the last column of each table whose heading ends with *Tests*. A name in backquotes before a colon is
//! a place. The names after it, up to the next place, are tests there.
//!
//! | place | means |
//! | --- | --- |
//! | `harness` | the faults of `cargo harness cluster` |
//! | `bugs` | the planted bugs of `cargo harness bugs` |
//! | with a slash | a folder |
//! | another | the crate with this name |
//!
//! | name | what the place must have |
//! | --- | --- |
//! | with a dot | a file whose path ends so |
//! | with a capital at its beginning | a variant of an enum, such as a fault of the simulation or a rule of the model |
//! | another | a function |
//! | of the `harness` or of `bugs` | a fault or a bug whose name begins so |

use super::Finding;
use super::tree::{File, Tree};

const FILE: &str = "docs/reliability.md";

/// The end of a table's first line.
const HEADER_END: &str = "| Tests |";

/// The names of the faults of `cargo harness cluster`.
const FAULTS: &str = "harness/src/cluster/faults.rs";

/// The names of the planted bugs.
const BUGS: &str = "harness/src/bugs.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(document) = tree.get(FILE) else {
        return vec![Finding::new(FILE, 0, "the document is missing")];
    };
    let rows = rows(&document.text);
    if rows.is_empty() {
        let text = format!("no table begins with a line that ends with {HEADER_END:?}");
        return vec![Finding::new(FILE, 0, text)];
    }
    let findings = rows.iter().flat_map(|(cell, line)| {
        let texts = check_cell(tree, cell).into_iter();
        texts.map(|text| Finding::new(FILE, *line, text))
    });
    findings.collect()
}

/// The last cells of the rows of all tables of tests, with their lines.
fn rows(text: &str) -> Vec<(&str, usize)> {
    let mut rows = Vec::new();
    let mut is_table = false;
    for (line, number) in text.lines().zip(1..) {
        is_table = line.starts_with('|') && (is_table || line.ends_with(HEADER_END));
        let is_row = is_table && !line.ends_with(HEADER_END) && !line.starts_with("| ---");
        if is_row {
            let cells = line.trim_end_matches('|').rsplit_once('|');
            rows.push((cells.map_or(line, |(_, last)| last), number));
        }
    }
    rows
}

/// What is wrong with a cell.
fn check_cell(tree: &Tree, cell: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut place = None;
    let mut tests = 0;
    // Every other piece between backquotes is a name; the text that follows it is the next piece.
    let pieces: Vec<&str> = cell.split('`').collect();
    for pair in pieces.get(1..).unwrap_or_default().chunks(2) {
        let &[name, ref follows @ ..] = pair else {
            continue;
        };
        let follows = follows.first().copied().unwrap_or_default();
        if follows.starts_with(':') {
            place = folder(tree, name);
            if place.is_none() {
                findings.push(format!("neither a crate nor a folder has the name {name}"));
            }
            continue;
        }
        tests += 1;
        match &place {
            Some(place) if !has(tree, place, name) => {
                findings.push(format!("{place} has no test {name}"));
            }
            None if findings.is_empty() => findings.push(format!("{name}: no place before it")),
            _ => {}
        }
    }
    if tests == 0 {
        findings.push("a row without a test".to_owned());
    }
    findings
}

/// The folder, or the file, of a place.
fn folder(tree: &Tree, place: &str) -> Option<String> {
    let folder = match place {
        "harness" => FAULTS.to_owned(),
        "bugs" => BUGS.to_owned(),
        _ if place.contains('/') => place.to_owned(),
        _ => format!("crates/{place}"),
    };
    tree.exists(&folder).then_some(folder)
}

/// Whether a place has a test.
fn has(tree: &Tree, place: &str, test: &str) -> bool {
    let is_there = |file: &&File| {
        let rest = file.path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut files = tree.files().filter(is_there);
    if place == FAULTS || place == BUGS {
        return files.any(|file| file.text.contains(&format!("\"{test}")));
    }
    if test.contains('.') {
        return files.any(|file| file.path.ends_with(&format!("/{test}")));
    }
    let mut sources = files.filter(|file| file.path.ends_with(".rs"));
    if test.starts_with(char::is_uppercase) {
        return sources.any(|file| file.text.lines().any(|line| is_variant(line, test)));
    }
    let function = format!("fn {test}(");
    sources.any(|file| file.text.contains(&function))
}

/// Whether a line of an enum declares this variant.
fn is_variant(line: &str, variant: &str) -> bool {
    let rest = line.trim_start().strip_prefix(variant);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '(']) || rest == " {")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(tests: &str) -> Vec<String> {
        let table = format!(
            "# Tests\n\n| `other`: | `none` |\n\n| What | Tests |\n| --- | --- |\n| a \\| b | {tests} |\n\nEnd"
        );
        let tree = Tree::of(&[
            (FILE, &table),
            (
                "crates/wal/src/a/heirs.rs",
                "#[test]\nfn an_heir_reads() {}",
            ),
            (
                "crates/sim/src/faults.rs",
                "enum Kind {\n    Kill,\n    To(Link),\n}",
            ),
            (FAULTS, "Self::Stop => \"stop etcd\""),
            (BUGS, "[\n    \"no-seal\",\n]"),
        ]);
        super::super::texts(check(&tree))
    }

    #[test]
    fn tests_that_exist_pass() {
        for tests in [
            "`wal`: `an_heir_reads`, as a text says: `a/heirs.rs`",
            "`crates/wal/src/a`: `an_heir_reads`. `sim`: `Kill`, `To`",
            "`harness`: `stop`, `stop etcd`. `bugs`: `no-seal`",
        ] {
            assert_eq!(texts(tests), [] as [&str; 0], "{tests}");
        }
    }

    #[test]
    fn what_does_not_exist_is_named() {
        for (tests, finding) in [
            ("`wal`: `an_heir`", "crates/wal has no test an_heir"),
            ("`sim`: `Link`", "crates/sim has no test Link"),
            ("`wal`: `eirs.rs`", "crates/wal has no test eirs.rs"),
            (
                "`gone`: `a`",
                "neither a crate nor a folder has the name gone",
            ),
            ("`an_heir_reads`", "an_heir_reads: no place before it"),
            ("`wal`: its tests", "a row without a test"),
        ] {
            assert_eq!(texts(tests), [finding], "{tests}");
        }
        let kill = format!("{FAULTS} has no test etcd");
        assert_eq!(texts("`harness`: `etcd`"), [kill]);
        let seal = format!("{BUGS} has no test seal");
        assert_eq!(texts("`bugs`: `seal`"), [seal]);
    }

    #[test]
    fn a_document_without_tables_is_named() {
        let tree = Tree::of(&[(FILE, "# Tests\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
