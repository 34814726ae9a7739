//! The project's files, read once.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// One text file.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Path from the project's folder, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    /// The parsed Rust source.
    pub(super) fn syntax(&self) -> anyhow::Result<syn::File> {
        syn::parse_file(&self.text).with_context(|| format!("parsing {}", self.path))
    }

    /// The parsed manifest.
    pub(super) fn manifest(&self) -> anyhow::Result<toml::Table> {
        let manifest = self.text.parse();
        manifest.with_context(|| format!("reading {}", self.path))
    }
}

/// The package name of a manifest; the workspace's own manifest has none.
pub(super) fn package_name(manifest: &toml::Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

/// Whether an item is compiled for tests only.
pub(super) fn is_test_item(attributes: &[syn::Attribute]) -> bool {
    let is_cfg = |one: &&syn::Attribute| one.path().is_ident("cfg");
    let mut cfgs = attributes.iter().filter(is_cfg);
    cfgs.any(|cfg| {
        cfg.parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
    })
}

/// All text files that git tracks or would add.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    files: Vec<File>,
    /// Every path, also of files that are not text.
    paths: Vec<String>,
}

impl Tree {
    /// The files that git tracks or would add.
    pub(super) fn of_repository(root: &Path) -> anyhow::Result<Self> {
        let output = Command::new("git")
            .current_dir(root)
            .args(["ls-files", "-z", "--cached", "--others"])
            .arg("--exclude-standard")
            .output()
            .context("starting git")?;
        ensure!(output.status.success(), "git ls-files failed");
        let mut tree = Self::default();
        let paths = String::from_utf8(output.stdout)?;
        for path in paths.split_terminator('\0') {
            // git also lists files whose deletion is not committed.
            let Ok(bytes) = std::fs::read(root.join(path)) else {
                continue;
            };
            tree.paths.push(path.to_owned());
            if let Ok(text) = String::from_utf8(bytes) {
                tree.files.push(File {
                    path: path.to_owned(),
                    text,
                });
            }
        }
        Ok(tree)
    }

    /// A tree of these files.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }

    /// Number of files.
    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// All text files.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// Rust sources.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

    /// One text file by its path.
    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a file or folder exists.
    pub(super) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.paths.iter().any(|known| {
                known
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}
