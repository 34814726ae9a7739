//! Escapes and shortens texts for a page.

use std::fmt;

/// Displays a text with its markup escaped, for content and quoted attributes. U+FFFD replaces control characters,
/// which a page must not contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() => f.write_char('\u{FFFD}')?,
                // Characters that change the text direction would affect the text after them.
                '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => f.write_char('\u{FFFD}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Shortens a text in its middle, because keys often differ at both ends.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let head = chars_max / 2;
    let tail = chars_max - head - 1;
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        let shown = Text("<script>'\"&\u{0}\n\u{202E}é</script>").to_string();
        assert_eq!(
            shown,
            "&lt;script&gt;&#39;&quot;&amp;\u{FFFD}\u{FFFD}\u{FFFD}é&lt;/script&gt;"
        );
    }

    #[test]
    fn long_texts_are_shortened_in_the_middle() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abc…fg");
        assert_eq!(shortened("ééééééé", 4), "éé…é");
    }
}
