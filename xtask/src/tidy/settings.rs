//! `tidy.toml`: the data of the rules.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

use super::tree::Tree;

/// Path of the file.
pub(super) const FILE: &str = "tidy.toml";

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Settings {
    /// The crates of ours that each of our crates may know.
    pub(super) arrows: BTreeMap<String, Vec<String>>,
    /// The further crates of ours that the tests of each of our crates may know.
    pub(super) test_arrows: BTreeMap<String, Vec<String>>,
    /// The only crates of ours that may know an outside crate.
    pub(super) only: BTreeMap<String, Vec<String>>,
    /// The outside crates that a crate of ours must never know.
    pub(super) never: BTreeMap<String, Vec<String>>,
    /// For each protocol, the files of its operations.
    pub(super) operations: BTreeMap<String, Operations>,
    /// Files that are longer than 1,000 lines.
    pub(super) long_file: Vec<SizeException>,
    /// Functions that are longer than a screen.
    pub(super) long_function: Vec<SizeException>,
}

/// The files of a protocol's operations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Operations {
    /// The folder of each room.
    pub(super) rooms: BTreeMap<String, String>,
    /// For each operation, the rooms that have a file of its name.
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

    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).context("reading tidy.toml")
    }
}
