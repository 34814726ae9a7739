//! The letters of permissions: which exist, in which order the service reads them, and what they mean.

/// The permissions of a table SAS or a table's stored policy.
pub(crate) const TABLE: &[(char, &str)] = &[
    ('r', "read"),
    ('a', "add"),
    ('u', "update"),
    ('d', "delete"),
];

/// The permissions of a queue SAS or a queue's stored policy.
pub(crate) const QUEUE: &[(char, &str)] = &[
    ('r', "read"),
    ('a', "add"),
    ('u', "update"),
    ('p', "process"),
];

/// The permissions of an account SAS that tables and queues have.
pub(super) const ACCOUNT: &[(char, &str)] = &[
    ('r', "read"),
    ('w', "write"),
    ('d', "delete"),
    ('l', "list"),
    ('a', "add"),
    ('c', "create"),
    ('u', "update"),
    ('p', "process"),
];

/// The services of an account SAS.
pub(super) const SERVICES: &[(char, &str)] = &[
    ('b', "blobs"),
    ('q', "queues"),
    ('t', "tables"),
    ('f', "files"),
];

/// The resource types of an account SAS.
pub(super) const RESOURCE_TYPES: &[(char, &str)] =
    &[('s', "services"), ('c', "containers"), ('o', "objects")];

/// The letters in the order in which the service reads them. Each may be given once.
pub(crate) fn ordered(text: &str, known: &[(char, &str)]) -> Result<String, String> {
    check(text, known)?;
    let letters = known.iter().map(|(letter, _)| *letter);
    Ok(letters.filter(|letter| text.contains(*letter)).collect())
}

/// Checks that the letters are known and not repeated.
pub(super) fn check(text: &str, known: &[(char, &str)]) -> Result<(), String> {
    if text.is_empty() {
        return Err(format!("write letters of {}", legend(known)));
    }
    for (at, letter) in text.char_indices() {
        if !known.iter().any(|(known, _)| *known == letter) {
            return Err(format!("{letter:?} is not one of {}", legend(known)));
        }
        if text.get(..at).is_some_and(|before| before.contains(letter)) {
            return Err(format!("{letter:?} is given twice"));
        }
    }
    Ok(())
}

/// The letters with their meanings: `r (read), a (add)`.
pub(crate) fn legend(known: &[(char, &str)]) -> String {
    let each = known.iter();
    let each: Vec<String> = each
        .map(|(letter, word)| format!("{letter} ({word})"))
        .collect();
    each.join(", ")
}

/// The meanings of letters: `read, add`. An unknown letter stands for itself.
pub(super) fn words(text: &str, known: &[(char, &str)]) -> String {
    let word = |letter: char| {
        let found = known.iter().find(|(known, _)| *known == letter);
        found.map_or_else(|| letter.to_string(), |(_, word)| (*word).to_owned())
    };
    let words: Vec<String> = text.chars().map(word).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_get_the_order_of_the_service() {
        assert_eq!(ordered("dar", TABLE), Ok("rad".to_owned()));
        assert_eq!(ordered("pcual", ACCOUNT), Ok("lacup".to_owned()));
        assert_eq!(words("rx", TABLE), "read, x");
        for (text, expected) in [
            (
                "",
                "write letters of r (read), a (add), u (update), d (delete)",
            ),
            ("rp", "'p' is not one of r (read)"),
            ("rar", "'r' is given twice"),
            ("R", "'R' is not one of"),
        ] {
            let refused = ordered(text, TABLE).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
