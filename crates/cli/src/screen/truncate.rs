//! Truncates text to a width of the terminal, and escapes control characters, because data must not move the cursor.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Truncates text to `width_max` columns, with an ellipsis at its end. Escapes control characters and invisible
/// characters.
pub(crate) fn truncate(text: &str, width_max: usize) -> String {
    let mut out = String::new();
    let mut width = 0;
    // Length of `out` that leaves a column for the ellipsis, if the whole text does not fit.
    let mut end = 0;
    for c in text.chars() {
        let escaped = match c.width() {
            Some(1..) => c.to_string(),
            // Combining marks are shown although their width is 0. Other characters without width are escaped, because
            // they are invisible or move the cursor.
            Some(0) if !out.is_empty() && !is_invisible(c) => c.to_string(),
            _ => c.escape_default().to_string(),
        };
        width += escaped.width();
        if width > width_max {
            out.truncate(end);
            out.push('…');
            return out;
        }
        out.push_str(&escaped);
        if width < width_max {
            end = out.len();
        }
    }
    out
}

/// Like [`truncate`], but with the ellipsis after a third of the columns, because keys often have a common prefix.
pub(crate) fn truncate_inside(text: &str, width_max: usize) -> String {
    let whole = truncate(text, usize::MAX);
    if whole.width() <= width_max {
        return whole;
    }
    let (mut at, mut width) = (whole.len(), 0);
    for (before, c) in whole.char_indices().rev() {
        width += c.width().unwrap_or_default();
        if width > width_max * 2 / 3 {
            break;
        }
        at = before;
    }
    let end = whole.get(at..).unwrap_or_default();
    truncate(&whole, width_max.saturating_sub(end.width())) + end
}

/// Whether a character is a formatting character of zero width. Some of these change the direction of the following
/// text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_and_escaped() {
        for (text, expected) in [
            ("abcd", "abcd"),
            ("abcde", "abc…"),
            ("日本", "日本"),
            ("日本語", "日…"),
            ("a\nb", "a\\nb"),
            ("\u{1b}[2J", "…"),
            ("e\u{301}", "e\u{301}"),
            ("a\u{202E}b", "a…"),
        ] {
            assert_eq!(truncate(text, 4), expected, "{text:?}");
        }
        assert_eq!(truncate("\u{1b}[2J", 40), "\\u{1b}[2J");
        for (text, expected) in [
            ("readings 'a1'", "readings 'a1'"),
            ("readings 'sensor-061'", "read…ensor-061'"),
            ("日本語日本語日本語", "日本…本語日本語"),
            (
                "a\u{301}aaaaaaaaaaaaaaaaa\u{301}",
                "a\u{301}aaa…aaaaaaaaaa\u{301}",
            ),
        ] {
            assert_eq!(truncate_inside(text, 15), expected, "{text:?}");
        }
        assert_eq!(truncate_inside("abc", 1), "…");
    }
}
