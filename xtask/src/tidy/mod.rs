//! `cargo xtask tidy`: the house rules that no compiler lint checks.
//!
//! Each rule is a pure function from the project's files to findings, so that a test can show it failing. The data of
//! the rules (who may know whom, exceptions with their reasons) is in `tidy.toml`.
//!
//! | rule | what it holds |
//! | --- | --- |
//! | arrows | crates know only the rooms below them; HTTP, storage and runtime crates stay in their rooms |
//! | sizes | files and functions of a usual size, or an exception with a reason |
//! | names | no `util`, no `foo.rs` beside `foo/` |
//! | words | no mark of unfinished work without an issue, no registry hosts, no paths of somebody's machine |
//! | attributes | every `allow` and `expect` gives its reason |
//! | links | links between documents resolve |

mod arrows;
mod attributes;
mod links;
mod names;
mod settings;
mod sizes;
mod tree;
mod words;

use anyhow::bail;
use partita_bench::project;

use self::settings::Settings;
use self::tree::Tree;

/// A broken rule: where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    text: String,
}

impl Finding {
    /// A finding in a line, counted from 1; 0 for the whole file.
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            text: text.into(),
        }
    }
}

pub(crate) fn run() -> anyhow::Result<()> {
    let tree = Tree::of_repository(&project::root())?;
    let settings = Settings::read(&tree)?;
    let mut findings = Vec::new();
    findings.extend(arrows::check(&tree, &settings)?);
    findings.extend(sizes::check(&tree, &settings)?);
    findings.extend(names::check(&tree));
    findings.extend(words::check(&tree));
    findings.extend(attributes::check(&tree)?);
    findings.extend(links::check(&tree));
    findings.sort();
    for finding in &findings {
        println!("{}:{}: {}", finding.path, finding.line, finding.text);
    }
    for note in sizes::notes(&tree) {
        eprintln!("note: {}: {}", note.path, note.text);
    }
    if findings.is_empty() {
        println!("tidy: {} files are in order", tree.len());
        return Ok(());
    }
    bail!("tidy: {} findings", findings.len());
}
