//! Compares the public API of the crates that Rust programs use with the lists in the repository, `public-api.txt` of
//! each crate. So a change of the API is seen in the review of its commit.
//!
//! ```text
//! cargo run --manifest-path xtask/api/Cargo.toml            fails if the API differs from a list
//! cargo run --manifest-path xtask/api/Cargo.toml -- write   writes the lists
//! ```
//!
//! A list has the items of the crate's default features: one a line, in the order of their paths. A removed or changed
//! line breaks programs that use the item; an added line does not, except for a required method of a trait, and for a
//! field or variant without `#[non_exhaustive]`.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

/// The folders of the crates that programs name in their manifests, and of the data model, which they re-export.
const CRATES: [&str; 3] = ["model", "client", "migrate"];

fn main() -> ExitCode {
    let writes = env::args().nth(1).is_some_and(|word| word == "write");
    match check_all(writes) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares the API of all crates with their lists, or writes the lists. Returns whether they are the same.
fn check_all(writes: bool) -> Result<bool, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let described = describe(&root)?;
    let mut is_same = true;
    for name in CRATES {
        is_same &= check(&root, &described, name, writes)?;
    }
    Ok(is_same)
}

/// Compares the API of a crate with its list, or writes the list. Returns whether they are the same.
fn check(root: &Path, described: &Path, name: &str, writes: bool) -> Result<bool, Box<dyn Error>> {
    let path = root.join("crates").join(name).join("public-api.txt");
    let now = public_api(described, name)?;
    let known = fs::read_to_string(&path).unwrap_or_default();
    if writes {
        fs::write(&path, &now)?;
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (known, now) = (lines(&known), lines(&now));
    for line in known.difference(&now) {
        println!("partita-{name}: removed or changed: {line}");
    }
    for line in now.difference(&known) {
        println!("partita-{name}: added: {line}");
    }
    let is_same = known == now;
    if !is_same && !writes {
        println!(
            "The API of partita-{name} has changed. If that is meant, run\n  \
             cargo run --manifest-path xtask/api/Cargo.toml -- write\n\
             and commit the list. For a line that was removed or changed, raise the second number of the version at the \
             next release, and tell users in changes/."
        );
    }
    Ok(is_same || writes)
}

/// Describes the crates as JSON files, all in one build: each alone would choose features of its own for the crates
/// that they share. Returns the folder of the files.
fn describe(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let rustdoc = Path::new(env!("CARGO_MANIFEST_DIR")).join("rustdoc");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let status = Command::new("cargo")
        .args(["doc", "--quiet", "--no-deps", "--lib"])
        .args(CRATES.map(|name| format!("--package=partita-{name}")))
        .current_dir(root)
        .env("RUSTDOC", rustdoc)
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .env("CARGO_TARGET_DIR", &target)
        .status()?;
    if !status.success() {
        return Err("cargo doc failed".into());
    }
    Ok(target.join("doc"))
}

/// The items of a crate, one a line.
fn public_api(described: &Path, name: &str) -> Result<String, Box<dyn Error>> {
    let json = described.join(format!("partita_{name}.json"));
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}
