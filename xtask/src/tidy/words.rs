//! Finds words that are banned from tracked files.

use super::Finding;
use super::tree::{File, Tree};

/// Marks of unfinished work. Written in two parts, so that the rule does not find this file.
const UNFINISHED: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];

/// Hosts of package registries: files name packages without a host, so that every mirror works.
const REGISTRY_HOSTS: [&str; 9] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("yarnpkg", ".com"),
    concat!("deb.debian", ".org"),
    concat!("archive.ubuntu", ".com"),
    concat!("proxy.golang", ".org"),
];

/// The source of every entry of a lock file, independent of the mirror.
const PUBLIC_INDEX: &str = concat!("registry+https://github.com/rust-lang/crates", ".io-index");

/// Folders of development machines, which do not exist on other machines.
const MACHINE_PATHS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/", "briefs"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_cargo_lock = file.path.ends_with("Cargo.lock");
    for (line, number) in file.text.lines().zip(1..) {
        let mut report = |text: String| findings.push(Finding::new(&file.path, number, text));
        for mark in UNFINISHED {
            if has_word(line, mark) && !line.contains(&format!("{mark}(#")) {
                report(format!(
                    "{mark} without an issue number: write {mark}(#123)"
                ));
            }
        }
        let is_source = is_cargo_lock && line.starts_with("source = ");
        if is_source && line != format!("source = \"{PUBLIC_INDEX}\"") {
            report(format!(
                "a package that is not from the public index: {line}"
            ));
        }
        for host in REGISTRY_HOSTS {
            if line.contains(host) && !is_source {
                report(format!(
                    "the host of a package registry, {host}: name the package without a host"
                ));
            }
        }
        for path in MACHINE_PATHS {
            if line.contains(path) {
                report(format!("a machine-specific path, {path}"));
            }
        }
    }
    findings
}

/// Whether the line contains `word` as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let letter = |c: char| c.is_alphanumeric() || c == '_';
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(letter) && !after.is_some_and(letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, line: &str) -> usize {
        check(&Tree::of(&[(path, line)])).len()
    }

    #[test]
    fn unfinished_work_needs_an_issue() {
        let mark = UNFINISHED[0];
        assert_eq!(count("a.py", &format!("# {mark}: later")), 1);
        assert_eq!(count("a.py", &format!("# {mark}(#12): later")), 0);
        assert_eq!(count("a.py", &format!("# MY{mark}S")), 0);
    }

    #[test]
    fn registry_hosts_and_machine_paths_fail() {
        for host in REGISTRY_HOSTS {
            assert_eq!(
                count("package-lock.json", &format!("https://{host}/x")),
                1,
                "{host}"
            );
        }
        let index = format!("source = \"{PUBLIC_INDEX}\"");
        assert_eq!(count("Cargo.lock", &index), 0);
        assert_eq!(
            count("Cargo.lock", "source = \"git+https://example.org/fork\""),
            1
        );
        for path in MACHINE_PATHS {
            assert_eq!(count("README.md", &format!("see {path}main")), 1, "{path}");
        }
    }
}
