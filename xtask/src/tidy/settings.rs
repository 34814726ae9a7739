//! `tidy.toml`: the data of the rules.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

use super::budgets::Budget;
use super::tree::Tree;

/// Path of the file.
pub(super) const FILE: &str = "tidy.toml";

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The crates of ours that each of our crates may know.
    #[serde(default)]
    pub(super) arrows: BTreeMap<String, Vec<String>>,
    /// The further crates of ours that the tests of each of our crates may know.
    #[serde(default)]
    pub(super) test_arrows: BTreeMap<String, Vec<String>>,
    /// The only crates of ours that may know an outside crate.
    #[serde(default)]
    pub(super) only: BTreeMap<String, Vec<String>>,
    /// The outside crates that a crate of ours must never know.
    #[serde(default)]
    pub(super) never: BTreeMap<String, Vec<String>>,
    /// Number of idioms that remain, by room.
    #[serde(default)]
    idioms: Budget,
    /// Number of circles between files that remain, by crate.
    #[serde(default)]
    circles: Budget,
    /// For each protocol, the files of its operations.
    #[serde(default)]
    pub(super) operations: BTreeMap<String, Operations>,
    /// Files that are longer than 1,000 lines.
    #[serde(default)]
    pub(super) long_file: Vec<SizeException>,
    /// Functions that are longer than a screen.
    #[serde(default)]
    pub(super) long_function: Vec<SizeException>,
}

/// The files of a protocol's operations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Operations {
    /// The folder of each room.
    #[serde(default)]
    pub(super) rooms: BTreeMap<String, String>,
    /// For each operation, the rooms that have a file of its name.
    #[serde(default)]
    pub(super) files: BTreeMap<String, Vec<String>>,
}

/// An exception from the size limits of files or functions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeException {
    pub(super) path: String,
    /// The function; absent for a file.
    pub(super) name: Option<String>,
    /// Why the file or function is not split.
    pub(super) reason: String,
}

impl Settings {
    pub(super) fn read(tree: &Tree) -> anyhow::Result<Self> {
        let file = tree.get(FILE).context("tidy.toml is missing")?;
        Self::parse(&file.text)
    }

    /// The budget of a rule.
    pub(super) fn budget(&self, rule: &str) -> &Budget {
        match rule {
            "circles" => &self.circles,
            _ => &self.idioms,
        }
    }

    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).context("reading tidy.toml")
    }
}
