//! Checks that links between documents lead to an existing file and, with an anchor, to an existing heading.

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        for (target, line) in links(&file.text) {
            if let Some(text) = broken(tree, file, &target) {
                findings.push(Finding::new(&file.path, line, text));
            }
        }
    }
    findings
}

/// The targets of inline links outside code, with their lines.
fn links(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // Every other piece between backquotes is code.
        let prose: Vec<&str> = line.split('`').step_by(2).collect();
        let prose = prose.join("");
        for piece in prose.split("](").skip(1) {
            if let Some((target, _)) = piece.split_once(')') {
                found.push((target.to_owned(), number));
            }
        }
    }
    found
}

fn broken(tree: &Tree, file: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() {
        file.path.clone()
    } else {
        resolve(&file.path, path)
    };
    if !tree.exists(&path) {
        return Some(format!(
            "the link to {target} is broken: no such file or heading"
        ));
    }
    let document = tree
        .get(&path)
        .filter(|_| path.ends_with(".md") && !anchor.is_empty())?;
    let has_heading = document
        .text
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .any(|heading| slug(heading.trim_start_matches('#')) == anchor);
    (!has_heading).then(|| format!("{path} has no heading for the link to {target}"))
}

/// Turns a path relative to a file into a path relative to the project's folder.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchor that GitHub makes of a heading.
fn slug(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let other = ("docs/format/keys.md", "# Keys\n## The first byte\n");
        check(&Tree::of(&[("docs/a.md", text), ("README.md", ""), other])).len()
    }

    #[test]
    fn links_to_files_folders_and_headings_pass() {
        for text in [
            "[a](format/keys.md) and [b](../README.md)",
            "[a](format/) [b](format/keys.md#the-first-byte)",
            "[a](https://example.org/x) `[a](nowhere.md)`",
            "```\n[a](nowhere.md)\n```",
        ] {
            assert_eq!(count(text), 0, "{text}");
        }
    }

    #[test]
    fn broken_links_fail() {
        assert_eq!(count("[a](nowhere.md), [b](../docs/gone/)"), 2);
        assert_eq!(count("[a](format/keys.md#the-second-byte)"), 1);
    }
}
