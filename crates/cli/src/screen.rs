//! The terminal that data is shown on.

use crate::output::cut;
use console::Term;
use std::io::{self, IsTerminal as _, Write as _};
use unicode_width::UnicodeWidthStr as _;

/// Columns and lines of the terminal on stdout; none where it is no terminal.
pub(crate) fn size() -> Option<(usize, usize)> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let (lines, columns) = Term::stdout().size();
    Some((columns.into(), lines.into()))
}

/// A line as several of so many columns, what follows indented. Data may be in it: nothing of it moves the cursor, and no word is wider
/// than its room.
pub(crate) fn wrapped(line: &str, width: usize, indent: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let word = cut(word, width - indent);
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

/// The alternate screen, with nothing else on it, until dropped: what was on the terminal before is there again then.
pub(crate) struct Screen(());

impl Screen {
    /// Enters it.
    pub(crate) fn enter() -> io::Result<Self> {
        put("\x1b[?1049h\x1b[?25l")?;
        Ok(Self(()))
    }

    /// Shows these lines in place of what was there, without flicker: each overwrites the one before.
    pub(crate) fn show(&self, text: &str) -> io::Result<()> {
        let lines = size().map_or(usize::MAX, |(_, lines)| lines);
        let mut shown = "\x1b[H".to_owned();
        for (at, line) in text.lines().take(lines).enumerate() {
            if at > 0 {
                shown.push_str("\r\n");
            }
            shown.push_str(line);
            shown.push_str("\x1b[K");
        }
        shown.push_str("\x1b[J");
        put(&shown)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody to tell when the terminal is gone.
        let _ = put("\x1b[?25h\x1b[?1049l");
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
