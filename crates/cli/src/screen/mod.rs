//! The terminal that data is shown on: its size, wrapped and truncated lines, and a live screen.

mod truncate;

pub(crate) use truncate::{truncate, truncate_inside};

use crate::error::CommandError;
use console::Term;
use std::io::{self, IsTerminal as _, Write as _};
use unicode_width::UnicodeWidthStr as _;

/// Columns and lines of the terminal on stdout; `None` where stdout is not a terminal.
pub(crate) fn size() -> Option<(usize, usize)> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let (lines, columns) = Term::stdout().size();
    Some((columns.into(), lines.into()))
}

/// Breaks a line into lines of at most `width` columns, all but the first indented. Truncates words that are too wide,
/// and escapes control characters, as the line may hold data.
pub(crate) fn wrap(line: &str, width: usize, indent: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let word = truncate(word, width - indent);
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= width => {
                last.push(' ');
                last.push_str(&word);
            }
            Some(_) => lines.push(format!("{margin}{word}")),
            None => lines.push(word),
        }
    }
    lines
}

/// Breaks a command into lines of at most `width` columns that a shell reads as one, all but the first indented. A word
/// that is too wide stays whole, because the command must run as it is printed.
pub(crate) fn wrap_command(command: &str, width: usize, indent: usize) -> Vec<String> {
    const CONTINUED: &str = " \\";
    let margin = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words(command) {
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() + CONTINUED.len() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            Some(last) => {
                last.push_str(CONTINUED);
                lines.push(format!("{margin}{word}"));
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The words of a command, with their quotes.
fn shell_words(command: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    let (mut quote, mut is_escaped) = (None, false);
    for (at, c) in command.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None, '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => {
                words.extend(command.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    words.extend(command.get(start..));
    words
}

/// The alternate screen of the terminal. Dropping it restores the normal screen.
pub(crate) struct Screen(());

impl Screen {
    /// Enters the alternate screen if `condition` holds.
    pub(crate) fn enter_if(condition: bool) -> Result<Option<Self>, CommandError> {
        if !condition {
            return Ok(None);
        }
        put("\x1b[?1049h\x1b[?25l").map_err(CommandError::Output)?;
        Ok(Some(Self(())))
    }

    /// Shows these lines. Each overwrites a line of the last text, which avoids flicker.
    pub(crate) fn show(&self, text: &str) -> Result<(), CommandError> {
        let lines = size().map_or(usize::MAX, |(_, lines)| lines);
        let mut frame = "\x1b[H".to_owned();
        for (at, line) in text.lines().take(lines).enumerate() {
            if at > 0 {
                frame.push_str("\r\n");
            }
            frame.push_str(line);
            frame.push_str("\x1b[K");
        }
        frame.push_str("\x1b[J");
        put(&frame).map_err(CommandError::Output)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // An error is ignored, because the terminal may be closed already.
        let _ = put("\x1b[?25h\x1b[?1049l");
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_command_is_one_command() {
        let command = r"partita admin split 3 --table 'people' --at='O'\''Brien the 2nd' --x";
        assert_eq!(
            wrap_command(command, 40, 2),
            [
                r"partita admin split 3 --table 'people' \",
                r"  --at='O'\''Brien the 2nd' --x"
            ]
        );
        let lines = wrap_command(command, 20, 2);
        assert!(lines.contains(&r"  --at='O'\''Brien the 2nd' \".to_owned()));
        let joined = lines.join("\n").replace(" \\\n  ", " ");
        assert_eq!(joined, command);
        assert_eq!(wrap_command(command, 80, 2), [command]);
    }
}
