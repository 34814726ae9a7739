//! Checks the subjects of commits: `room: imperative`, at most 70 characters.
//!
//! The rule needs the history, which a shallow clone does not have, so it is not part of `./test`: `cargo xtask tidy
//! --commits REV..`. Whether a verb is an imperative is guessed from its form; a noun in its place may pass.

use std::process::Command;

use anyhow::{Context, ensure};
use partita_bench::project;

/// Maximum length of a subject, in characters.
const SUBJECT_MAX: usize = 70;

/// First words that show that a subject is not an imperative.
const NOT_IMPERATIVE: [&str; 22] = [
    "a", "all", "an", "both", "each", "every", "how", "it", "its", "more", "no", "one", "only",
    "our", "some", "that", "the", "their", "there", "these", "this", "what",
];

/// Imperatives whose endings look like another form of a verb.
const IMPERATIVE: [&str; 8] = [
    "bring", "embed", "exceed", "feed", "focus", "need", "proceed", "seed",
];

/// The faults of the subjects in a range of commits, without merges.
pub(super) fn check(range: &str) -> anyhow::Result<Vec<String>> {
    let output = Command::new("git")
        .current_dir(project::root())
        .args(["log", "--no-merges", "--reverse", "--format=%h %s", range])
        .output()
        .context("starting git")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "git log {range} failed: {}",
        error.trim()
    );
    let log = String::from_utf8(output.stdout)?;
    let findings = log.lines().filter_map(|line| {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        fault(subject).map(|fault| format!("{commit}: {fault}: {subject}"))
    });
    Ok(findings.collect())
}

/// The fault of a subject.
fn fault(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > SUBJECT_MAX {
        let text = format!("the subject has {length} characters, at most {SUBJECT_MAX}");
        return Some(text);
    }
    let Some((rooms, what)) = subject.split_once(": ") else {
        return Some("the subject names no room: write `room: do the thing`".to_owned());
    };
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_/.".contains(c);
    let is_room = |room: &str| !room.is_empty() && room.chars().all(is_letter);
    if !rooms.split(", ").all(is_room) {
        let text = format!("{rooms:?} is not a room or a list of rooms, in lower case");
        return Some(text);
    }
    let verb = what.split([' ', ',', ';']).next().unwrap_or_default();
    (!is_imperative(verb)).then(|| format!("{verb:?} is not an imperative"))
}

fn is_imperative(verb: &str) -> bool {
    let is_word = verb.starts_with(|c: char| c.is_ascii_lowercase());
    let has_other_form = ["ing", "ed"].iter().any(|end| verb.ends_with(end))
        || verb.ends_with('s') && !verb.ends_with("ss");
    IMPERATIVE.contains(&verb) || is_word && !has_other_form && !NOT_IMPERATIVE.contains(&verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imperatives_pass() {
        for subject in [
            "cluster: start despite leftover files of deleted databases",
            "engine, cli: use the field's names for clones",
            "tools: pass errors on",
            "docs/format: bring the log up to date",
        ] {
            assert_eq!(fault(subject), None, "{subject}");
        }
    }

    #[test]
    fn statements_and_long_subjects_fail() {
        for (subject, expected) in [
            ("fix things", "names no room"),
            ("Engine: fix things", "is not a room"),
            ("cluster: a file is in the way", "\"a\" is not"),
            ("docs: figures of the newest build", "\"figures\" is not"),
            ("docs: added figures", "\"added\" is not"),
            ("docs: Add figures", "\"Add\" is not"),
            (
                "engine: open a database whose log is longer than seventy characters are",
                "at most 70",
            ),
        ] {
            let fault = fault(subject);
            assert!(
                fault
                    .as_deref()
                    .is_some_and(|fault| fault.contains(expected)),
                "{subject}: {fault:?}"
            );
        }
    }
}
