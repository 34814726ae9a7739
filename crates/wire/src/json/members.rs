//! Reads the string members of a small object and of the objects inside it: error bodies.

use super::scanner::{Scanner, Token};

/// How deep an error body nests: `odata.error`, `message`, and one more level for unknown members.
const DEPTH_MAX: usize = 4;

/// Hands the name and text of every string member, at any depth, to `take`. `None` where the text is not a JSON object, or
/// its first member has none of the names in `first`.
pub(crate) fn read_members(
    body: &[u8],
    first: &[&str],
    mut take: impl FnMut(&str, String),
) -> Option<()> {
    let mut scanner = Scanner::new(body)?;
    if !scanner.take(b'{') {
        return None;
    }
    let name = scanner.name()?.text()?;
    if !first.contains(&&*name) {
        return None;
    }
    let mut depth = 1;
    // The name of the value that follows, where a value follows.
    let mut named = Some(name);
    loop {
        if let Some(name) = named.take() {
            if scanner.take(b'{') {
                depth += 1;
                if depth > DEPTH_MAX {
                    return None;
                }
                // An object may be empty.
                named = scanner.name().and_then(Token::text);
                if named.is_some() {
                    continue;
                }
            } else if let Some(text) = scanner.value()?.text() {
                take(&name, text.into_owned());
            }
        }
        if scanner.take(b',') {
            named = Some(scanner.name()?.text()?);
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
