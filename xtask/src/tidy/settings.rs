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
    /// For each crate of this project, the other crates of this project that it may depend on.
    pub(super) arrows: BTreeMap<String, Vec<String>>,
    /// For each crate of this project, the further crates that its tests may depend on.
    pub(super) test_arrows: BTreeMap<String, Vec<String>>,
    /// For a library, the only crates of this project that may depend on it.
    pub(super) only: BTreeMap<String, Vec<String>>,
    /// For a crate of this project, the libraries that it must never depend on.
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
