//! Writes text in JSON strings.

use partita_model::is_plain;

/// Appends a string with its quotes. `plain` means that no byte of it needs an escape ([`is_plain`]).
#[inline]
pub(crate) fn push_string(text: &str, plain: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    if plain {
        out.extend_from_slice(text.as_bytes());
    } else {
        push_escaped(text, out);
    }
    out.push(b'"');
}

/// Appends the text of a string without its quotes, with escapes where JSON needs them.
pub(crate) fn push_text(text: &str, out: &mut Vec<u8>) {
    if is_plain(text) {
        out.extend_from_slice(text.as_bytes());
    } else {
        push_escaped(text, out);
    }
}

/// Appends the text with escapes. Each run of bytes without escapes is copied in one step.
fn push_escaped(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text.as_bytes();
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    while let Some(at) = rest.iter().position(special) {
        let (run, from_special) = rest.split_at(at);
        out.extend_from_slice(run);
        let Some((&byte, after)) = from_special.split_first() else {
            break;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            other => {
                let low = HEX[usize::from(other & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (other >> 4), low]);
            }
        }
        rest = after;
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn serde_json_reads_written_strings(text in "[\u{0}-\u{7F}é\u{1F600}]{0,40}") {
            let mut out = Vec::new();
            push_string(&text, is_plain(&text), &mut out);
            let read: String = serde_json::from_slice(&out).unwrap();
            prop_assert_eq!(&read, &text);
            let mut again = vec![b'"'];
            push_text(&text, &mut again);
            again.push(b'"');
            prop_assert_eq!(again, out);
        }
    }
}
