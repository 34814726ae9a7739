//! The words of a line as a shell passes them, and as the command line reads them.
//!
//! bash splits words also at `:` and `=`, so that `--endpoint http://h:1/a` has seven words, and replaces only the part
//! after the last of these. bash and zsh pass earlier words with their quotes.

use std::ffi::OsString;

/// A line to complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellWords {
    pub(super) words: Vec<OsString>,
    /// The word that is completed.
    pub(super) index: usize,
    /// The beginning of this word that the shell keeps.
    pub(super) typed: String,
}

impl ShellWords {
    /// Words that need no change.
    pub(super) fn plain(words: Vec<OsString>, index: usize) -> Self {
        let typed = String::new();
        Self {
            words,
            index,
            typed,
        }
    }

    /// Words of zsh.
    pub(super) fn of_zsh(mut words: Vec<OsString>, index: usize) -> Self {
        // zsh omits an empty last word.
        if words.len() == index {
            words.push(OsString::new());
        }
        let unquoted = words.into_iter().enumerate();
        let unquoted = unquoted.map(|(at, word)| match at < index {
            true => unquoted_word(word),
            false => word,
        });
        Self::plain(unquoted.collect(), index)
    }

    /// Words of bash, joined where it split them at `:` and `=`.
    pub(super) fn of_bash(words: Vec<OsString>, index: usize) -> Self {
        let is_break = |word: &OsString| {
            let bytes = word.as_encoded_bytes();
            !bytes.is_empty() && bytes.iter().all(|byte| matches!(byte, b':' | b'='))
        };
        let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
        let mut typed = String::new();
        let mut after_break = false;
        for (at, word) in words.into_iter().enumerate().take(index + 1) {
            let breaks = is_break(&word);
            let word = if at < index {
                unquoted_word(word)
            } else {
                word
            };
            match joined
                .last_mut()
                .filter(|_| at > 1 && (breaks || after_break))
            {
                Some(last) => {
                    if at == index {
                        typed = last.to_string_lossy().into_owned();
                    }
                    last.push(word);
                }
                None => joined.push(word),
            }
            after_break = breaks;
        }
        let index = joined.len().saturating_sub(1);
        Self {
            words: joined,
            index,
            typed,
        }
    }
}

/// A word without its quotes; as it is if they are not closed.
fn unquoted_word(word: OsString) -> OsString {
    let Some(mut words) = word.to_str().and_then(shlex::split) else {
        return word;
    };
    match words.len() {
        1 => words.remove(0).into(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(words: &[&str]) -> (Vec<String>, String) {
        let index = words.len() - 1;
        let words = words.iter().map(OsString::from).collect();
        let read = ShellWords::of_bash(words, index);
        let words = read
            .words
            .iter()
            .map(|word| word.to_str().unwrap().to_owned());
        let words: Vec<String> = words.collect();
        assert_eq!(read.index, words.len() - 1);
        (words, read.typed)
    }

    #[test]
    fn bash_words_are_joined_at_colons_and_equals_signs() {
        for (given, joined, typed) in [
            (
                &["partita", "scan", "p"][..],
                &["partita", "scan", "p"][..],
                "",
            ),
            (
                &[
                    "partita",
                    "--endpoint",
                    "http",
                    ":",
                    "//h",
                    ":",
                    "1/a",
                    "scan",
                    "",
                ],
                &["partita", "--endpoint", "http://h:1/a", "scan", ""],
                "",
            ),
            (
                &["partita", "--profile", "=", "pr"],
                &["partita", "--profile=pr"],
                "--profile=",
            ),
            (
                &["partita", "'a b'", "\"c=d\"", "e\\ f", "g"],
                &["partita", "a b", "c=d", "e f", "g"],
                "",
            ),
            (&["partita", "'open", "g"], &["partita", "'open", "g"], ""),
        ] {
            let (words, kept) = bash(given);
            assert_eq!(
                (words, kept.as_str()),
                (joined.iter().map(|&word| word.to_owned()).collect(), typed)
            );
        }
    }

    #[test]
    fn zsh_words_lose_their_quotes_and_get_an_empty_last_one() {
        let words = ["partita", "'a b'"].map(OsString::from).to_vec();
        let read = ShellWords::of_zsh(words, 2);
        assert_eq!(read.words, ["partita", "a b", ""].map(OsString::from));
    }
}
