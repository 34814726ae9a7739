//! Long texts as properties of a row. A property has at most 32 Ki UTF-16 code units, so a long text is cut into
//! several: `Work`, `Work1`, `Work2`, and so on.

use partita_client::{Entity, Value};

/// Maximum number of UTF-16 code units of one piece: somewhat below the service's limit of 32,768.
const PIECE_UNITS_MAX: usize = 32_000;

/// Sets a text, and removes the pieces of a longer earlier text.
pub(super) fn put_text(entity: &mut Entity, name: &str, text: &str) {
    let mut pieces = vec![String::new()];
    let mut units = 0;
    for c in text.chars() {
        if units + c.len_utf16() > PIECE_UNITS_MAX {
            pieces.push(String::new());
            units = 0;
        }
        units += c.len_utf16();
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    let count = pieces.len();
    for (at, piece) in pieces.into_iter().enumerate() {
        entity.insert(piece_name(name, at), piece);
    }
    let mut at = count;
    while entity.remove(&piece_name(name, at)).is_some() {
        at += 1;
    }
}

/// Reads a text that [`put_text`] has set; `None` if there is none.
pub(super) fn text(entity: &Entity, name: &str) -> Option<String> {
    let mut whole = match entity.get(name)? {
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let mut at = 1;
    while let Some(Value::String(piece)) = entity.get(&piece_name(name, at)) {
        whole.push_str(piece);
        at += 1;
    }
    Some(whole)
}

fn piece_name(name: &str, at: usize) -> String {
    match at {
        0 => name.to_owned(),
        at => format!("{name}{at}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut entity = Entity::new("p", "r");
        let long = format!("x{}", "\u{1F600}".repeat(40_000));
        put_text(&mut entity, "Work", &long);
        assert_eq!(entity.len(), 3);
        for (_, value) in entity.iter() {
            let Value::String(piece) = value else {
                panic!("a piece is a text")
            };
            assert!(piece.encode_utf16().count() <= PIECE_UNITS_MAX);
        }
        assert_eq!(text(&entity, "Work").as_deref(), Some(&*long));
        put_text(&mut entity, "Work", "");
        assert_eq!(
            (entity.len(), text(&entity, "Work").as_deref()),
            (1, Some(""))
        );
        assert_eq!(text(&entity, "Other"), None);
    }
}
