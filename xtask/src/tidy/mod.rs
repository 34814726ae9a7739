//! `cargo xtask tidy`: the house rules that no compiler lint checks.
//!
//! Each rule is a pure function from the project's files to findings, so that tests can show that it finds a fault. The
//! data of the rules (dependencies, exceptions with their reasons) is in `tidy.toml`.
//!
//! | rule | promise |
//! | --- | --- |
//! | arrows | crates depend only on the crates below them; only listed crates use HTTP, storage and runtime libraries |
//! | map | the table of crates in `ARCHITECTURE.md` has every crate with its dependencies |
//! | sizes | files and functions of a usual size, or an exception with a reason |
//! | names | no `util`, no `foo.rs` beside `foo/` |
//! | operations | every operation has a file with its name in each listed folder |
//! | words | no mark of unfinished work without an issue, no registry hosts, no machine-specific paths |
//! | idioms | no riddles in comments, texts and documents |
//! | circles | no files of a crate that use each other |
//! | attributes | every `allow` and `expect` gives its reason |
//! | links | links between documents resolve |
//! | proofs | each test that `docs/reliability.md` names for a rule or a fault of a cluster exists |
//! | commits | subjects are `room: imperative`; only with `--commits`, as it needs the history |

mod arrows;
mod attributes;
mod circles;
mod commits;
mod idioms;
mod links;
mod map;
mod names;
mod operations;
mod proofs;
mod settings;
mod sizes;
mod tree;
mod words;

use anyhow::ensure;
use partita_bench::project;

use self::settings::Settings;
use self::tree::Tree;

/// Check the house rules that no compiler lint checks
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Check the subjects of these commits instead of the files
    #[arg(long, value_name = "REV..")]
    commits: Option<String>,
}

/// A broken rule: its place, and what to do.
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

/// The texts of findings.
#[cfg(test)]
fn texts(findings: Vec<Finding>) -> Vec<String> {
    findings.into_iter().map(|finding| finding.text).collect()
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(range) = &arguments.commits {
        return check_commits(range);
    }
    let tree = Tree::of_repository(&project::root())?;
    let settings = Settings::read(&tree)?;
    let mut findings = [
        arrows::check(&tree, &settings)?,
        map::check(&tree, &settings)?,
        sizes::check(&tree, &settings)?,
        names::check(&tree),
        operations::check(&tree, &settings),
        words::check(&tree),
        idioms::check(&tree),
        circles::check(&tree)?,
        attributes::check(&tree)?,
        links::check(&tree),
        proofs::check(&tree),
    ]
    .concat();
    findings.sort();
    for finding in &findings {
        println!("{}:{}: {}", finding.path, finding.line, finding.text);
    }
    for note in sizes::notes(&tree) {
        eprintln!("note: {}: {}", note.path, note.text);
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    println!("tidy: {} files are in order", tree.len());
    Ok(())
}

fn check_commits(range: &str) -> anyhow::Result<()> {
    let findings = commits::check(range)?;
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    println!("tidy: the subjects of {range} are in order");
    Ok(())
}
