//! What a terminal shows after a program has written to it.

use std::str::Chars;

/// The lines of a terminal, without a limit of lines and columns.
#[derive(Debug, Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The normal screen, while a program shows the alternate one.
    normal: Option<Box<Screen>>,
}

/// The text that is left on a terminal: without colours, and without what was erased or overwritten. A line that is
/// wider than the terminal stays one line.
pub(super) fn shown(output: &str) -> String {
    let mut screen = Screen::default();
    let mut rest = output.chars();
    while let Some(char) = rest.next() {
        match char {
            '\r' => screen.column = 0,
            '\n' => screen.row += 1,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\u{1b}' => screen.escape(&mut rest),
            char if char.is_control() => {}
            char => screen.put(char),
        }
    }
    let mut text = String::new();
    for line in &screen.lines {
        let line: String = line.iter().collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

impl Screen {
    fn line(&mut self) -> &mut Vec<char> {
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
        &mut self.lines[self.row]
    }

    fn put(&mut self, char: char) {
        let column = self.column;
        let line = self.line();
        if line.len() <= column {
            line.resize(column + 1, ' ');
        }
        line[column] = char;
        self.column += 1;
    }

    /// Executes a control sequence, whose first character was read.
    fn escape(&mut self, rest: &mut Chars<'_>) {
        if rest.next() != Some('[') {
            return;
        }
        let mut parameter = String::new();
        let last = rest.by_ref().find(|char| {
            let is_last = ('@'..='~').contains(char);
            if !is_last {
                parameter.push(*char);
            }
            is_last
        });
        let number = parameter.parse().ok();
        match (last, &*parameter) {
            (Some('A'), _) => self.row = self.row.saturating_sub(number.unwrap_or(1)),
            (Some('B'), _) => self.row += number.unwrap_or(1),
            (Some('G'), _) => self.column = number.unwrap_or(1).saturating_sub(1),
            (Some('K'), "2") => self.line().clear(),
            (Some('K'), _) => {
                let column = self.column;
                self.line().truncate(column);
            }
            (Some('J'), _) => {
                let column = self.column;
                self.line().truncate(column);
                self.lines.truncate(self.row + 1);
            }
            (Some('H'), _) => (self.row, self.column) = (0, 0),
            (Some('h'), "?1049") => {
                let normal = std::mem::take(self);
                self.normal = Some(Box::new(normal));
            }
            (Some('l'), "?1049") => {
                if let Some(normal) = self.normal.take() {
                    *self = *normal;
                }
            }
            // Colours, and whether the cursor is visible.
            _ => {}
        }
    }
}

#[test]
fn what_is_erased_or_overwritten_is_not_shown() {
    for (output, text) in [
        ("a\r\nb\r\n", "a\nb\n"),
        ("\u{1b}[32mgreen\u{1b}[0m  \r\n", "green\n"),
        ("10 %\r\u{1b}[2K20 %\r\u{1b}[2Kdone\r\n", "done\n"),
        ("one\r\ntwo\r\n\u{1b}[1A\u{1b}[2Kthree\r\n", "one\nthree\n"),
        ("a\u{1b}[?1049hlive\u{1b}[?1049lb\r\n", "ab\n"),
        ("long\rab\u{1b}[K\r\n", "ab\n"),
        ("a\r\nb\r\n\u{1b}[H\u{1b}[J", ""),
    ] {
        assert_eq!(shown(output), text, "{output:?}");
    }
}
