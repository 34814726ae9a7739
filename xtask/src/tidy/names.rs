//! Checks the names of modules.

use super::Finding;
use super::tree::Tree;

/// Names that do not say what a module is for.
const BANNED: [&str; 7] = [
    "util", "utils", "common", "helper", "helpers", "misc", "shared",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for part in file.path.split('/') {
            let stem = part.trim_end_matches(".rs");
            if BANNED.contains(&stem) {
                let text = format!("a module named {stem}: use a name that says what it is for");
                findings.push(Finding::new(&file.path, 0, text));
            }
        }
        let folder = file.path.trim_end_matches(".rs");
        if tree.exists(folder) && has_rust(tree, folder) {
            let text = format!("the folder {folder}/ exists: move the file to {folder}/mod.rs");
            findings.push(Finding::new(&file.path, 0, text));
        }
    }
    findings
}

fn has_rust(tree: &Tree, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    tree.rust().any(|file| file.path.starts_with(&prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(paths: &[&str]) -> usize {
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (*path, "")).collect();
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn names_without_meaning_fail() {
        assert_eq!(count(&["src/util.rs"]), 1);
        assert_eq!(count(&["src/common/mod.rs"]), 1);
        assert_eq!(count(&["src/backoff.rs", "src/utility_bill.rs"]), 0);
    }

    #[test]
    fn a_file_beside_its_folder_fails() {
        assert_eq!(count(&["src/foo.rs", "src/foo/bar.rs"]), 1);
        assert_eq!(count(&["src/foo/mod.rs", "src/foo/bar.rs"]), 0);
    }
}
