//! Budgets in `tidy.toml` for rules that the tree still breaks: faults by room, which may only fall.
//!
//! More faults than the budget fail, and fewer fail too until the number is lowered, by hand or by
//! `cargo xtask tidy --lower-budgets`.

use std::collections::BTreeMap;

use super::Finding;

/// The file of the budgets.
const FILE: &str = "tidy.toml";

/// One fault of a rule with a budget.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Counted {
    pub(super) path: String,
    /// The line, counted from 1; 0 for the whole file.
    pub(super) line: usize,
    pub(super) text: String,
}

/// Allowed faults by room. A room without a line has none.
pub(super) type Budget = BTreeMap<String, usize>;

/// The room of a file: a crate, or the folder beside the crates; `.` for files of the project's folder.
fn room(path: &str) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    let end = match path.starts_with("crates/") {
        true => ends.nth(1),
        false => ends.next(),
    };
    end.and_then(|end| path.get(..end)).unwrap_or(".")
}

fn by_room(counted: &[Counted]) -> BTreeMap<&str, Vec<&Counted>> {
    let mut rooms: BTreeMap<&str, Vec<&Counted>> = BTreeMap::new();
    for one in counted {
        rooms.entry(room(&one.path)).or_default().push(one);
    }
    rooms
}

/// Compares the faults of a rule with its budget, the table `[rule]` of `tidy.toml`.
pub(super) fn check(rule: &str, counted: &[Counted], budget: &Budget) -> Vec<Finding> {
    let rooms = by_room(counted);
    let mut findings = Vec::new();
    for (room, faults) in &rooms {
        let allowed = budget.get(*room).copied().unwrap_or(0);
        if faults.len() > allowed {
            let list = faults
                .iter()
                .map(|one| Finding::new(&one.path, one.line, one.text.as_str()));
            findings.extend(list);
            let count = faults.len();
            let text = format!("[{rule}] {room} has {count}, its budget is {allowed}");
            findings.push(Finding::new(FILE, 0, text));
        }
    }
    for (room, allowed) in budget {
        let count = rooms.get(room.as_str()).map_or(0, Vec::len);
        if count < *allowed {
            let text = format!(
                "[{rule}] {room} has {count}, lower its budget of {allowed}: cargo xtask tidy --lower-budgets"
            );
            findings.push(Finding::new(FILE, 0, text));
        }
    }
    findings
}

/// The text of `tidy.toml` with the budgets of a rule lowered to the present counts; none is raised.
pub(super) fn lower(text: &str, rule: &str, counted: &[Counted]) -> String {
    let rooms = by_room(counted);
    let header = format!("[{rule}]");
    let mut is_inside = false;
    let mut lowered = String::new();
    for line in text.lines() {
        if line.starts_with('[') {
            is_inside = line == header;
        }
        match entry(line).filter(|_| is_inside) {
            None => lowered += &format!("{line}\n"),
            Some((room, allowed)) => {
                let count = rooms.get(room).map_or(0, Vec::len).min(allowed);
                if count > 0 {
                    lowered += &format!("\"{room}\" = {count}\n");
                }
            }
        }
    }
    lowered
}

/// A line `"room" = number`.
fn entry(line: &str) -> Option<(&str, usize)> {
    let (room, number) = line.split_once(" = ")?;
    let room = room.strip_prefix('"')?.strip_suffix('"')?;
    Some((room, number.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(paths: &[&str]) -> Vec<Counted> {
        let one = |path: &&str| Counted {
            path: (*path).to_owned(),
            line: 7,
            text: "a fault".to_owned(),
        };
        paths.iter().map(one).collect()
    }

    #[test]
    fn rooms_are_crates_and_folders() {
        for (path, expected) in [
            ("crates/cli/src/a.rs", "crates/cli"),
            ("bench/src/a.rs", "bench"),
            ("docs/format/log.md", "docs"),
            ("README.md", "."),
        ] {
            assert_eq!(room(path), expected);
        }
    }

    #[test]
    fn more_and_fewer_than_the_budget_fail() {
        let budget = Budget::from([("docs".to_owned(), 2)]);
        let texts = |paths: &[&str]| super::super::texts(check("idioms", &counted(paths), &budget));
        assert_eq!(texts(&["docs/a.md", "docs/b.md"]), [] as [&str; 0]);
        let over = texts(&["docs/a.md", "docs/b.md", "docs/b.md"]);
        assert_eq!(over.len(), 4);
        assert!(over.contains(&"[idioms] docs has 3, its budget is 2".to_owned()));
        let under = texts(&["docs/a.md"]);
        assert_eq!(under.len(), 1);
        assert!(
            under[0].starts_with("[idioms] docs has 1, lower"),
            "{under:?}"
        );
        assert_eq!(texts(&["docs/a.md", "docs/a.md", "bench/a.rs"]).len(), 2);
    }

    #[test]
    fn budgets_are_lowered_and_never_raised() {
        let text = "# kept\n[other]\n\"docs\" = 9\n\n[idioms]\n\"bench\" = 1\n\"crates/a\" = 1\n\"docs\" = 3\n";
        let paths = ["docs/a.md", "crates/a/x.rs", "crates/a/x.rs"];
        assert_eq!(
            lower(text, "idioms", &counted(&paths)),
            "# kept\n[other]\n\"docs\" = 9\n\n[idioms]\n\"crates/a\" = 1\n\"docs\" = 1\n"
        );
    }
}
