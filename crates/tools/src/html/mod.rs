//! What all HTML pages share: their head, with the style of text and figures, and escaped and shortened texts.

use std::fmt::{self, Write as _};

/// The style of the page around its content.
const BASE: &str = include_str!("base.css");

/// The beginning of a page, up to its content. The content security policy forbids other files, and scripts unless the
/// page has one of its own.
pub(crate) fn begin(title: &str, style: &str, has_script: bool) -> String {
    let script = if has_script {
        "; script-src 'unsafe-inline'"
    } else {
        ""
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:{script}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{BASE}{style}</style>\n</head>\n<body>\n<main>\n",
        Text(title)
    )
}

/// The end of a page, with a footer.
pub(crate) fn end(footer: &str) -> String {
    format!(
        "</main>\n<footer>{}</footer>\n</body>\n</html>\n",
        Text(footer)
    )
}

/// Named figures in a row.
pub(crate) fn figures<'f>(figures: impl IntoIterator<Item = (String, &'f str)>) -> String {
    let mut list = "<dl class=\"figures\">\n".to_owned();
    for (value, name) in figures {
        let _ = writeln!(list, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    list + "</dl>\n"
}

/// Displays a text with its markup escaped, for content and quoted attributes. U+FFFD replaces control characters,
/// which a page must not contain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
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
