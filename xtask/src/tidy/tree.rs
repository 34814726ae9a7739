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

/// All text files that are tracked or about to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    files: Vec<File>,
    /// Every path, also of files that are not text.
    paths: Vec<String>,
}

impl Tree {
    /// The files git knows or would add: what a clone will have.
    pub(super) fn of_repository(root: &Path) -> anyhow::Result<Self> {
        let output = Command::new("git")
            .current_dir(root)
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .output()
            .context("starting git")?;
        ensure!(output.status.success(), "git ls-files failed");
        let mut tree = Self::default();
        for path in String::from_utf8(output.stdout)?
            .split('\0')
            .filter(|path| !path.is_empty())
        {
            // A file deleted but not yet committed is listed and not there; one that is not text has no rules.
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

    /// A made-up tree.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| File {
                    path: (*path).to_owned(),
                    text: (*text).to_owned(),
                })
                .collect(),
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

    /// Whether a file or folder is there.
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
