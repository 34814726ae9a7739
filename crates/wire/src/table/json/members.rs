//! Reads the texts in a small object, and in the objects inside it: error bodies.

use super::entity_reader::text_of;
use super::scanner::{Scanner, Token};

/// How deep an error body nests: `odata.error`, `message`, and one for whatever else stands in it.
const DEPTH_MAX: usize = 4;

/// Hands the name and text of every string member to `take`, at any depth, if the object begins with a member of one of
/// these names. `None` where the text is no JSON object, or begins otherwise.
pub(crate) fn read_members(
    body: &[u8],
    first: &[&str],
    mut take: impl FnMut(&str, String),
) -> Option<()> {
    let mut scanner = Scanner::new(body)?;
    if !scanner.take(b'{') {
        return None;
    }
    let name = text_of(scanner.name()?).ok()?;
    if !first.contains(&&*name) {
        return None;
    }
    let mut depth = 1;
    // Whether the next thing is a value, whose name has been read.
    let mut named = Some(name);
    loop {
        if let Some(name) = named.take() {
            if scanner.take(b'{') {
                depth += 1;
                if depth > DEPTH_MAX {
                    return None;
                }
                // An object may be empty.
                named = scanner.name().and_then(|name| text_of(name).ok());
                if named.is_some() {
                    continue;
                }
            } else {
                let value = scanner.value()?;
                if let (Token::Plain(_) | Token::Escaped(_), Ok(text)) = (value, text_of(value)) {
                    take(&name, text.into_owned());
                }
            }
        }
        if scanner.take(b',') {
            named = Some(text_of(scanner.name()?).ok()?);
        } else if scanner.take(b'}') {
            depth -= 1;
            if depth == 0 {
                return scanner.is_done().then_some(());
            }
        } else {
            return None;
        }
    }
}
