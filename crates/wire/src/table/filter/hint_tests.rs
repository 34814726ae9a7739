//! B8: a wrong filter shows its place and what to write instead.

use super::{check_filter, parse_filter};
use proptest::prelude::*;

/// The marked part of a wrong filter, and the hint.
fn hint(filter: &str) -> (String, String) {
    let failure = match parse_filter(filter) {
        Ok(read) => panic!("{filter} was read as {read}"),
        Err(failure) => failure,
    };
    let hint = failure.hint.unwrap_or_else(|| panic!("{filter}: no hint"));
    (filter[hint.start..hint.end].to_owned(), hint.text)
}

#[test]
fn b8_each_common_mistake_has_a_place_and_a_hint() {
    for (filter, marked, expected) in [
        (
            "dest eq SFO",
            "SFO",
            "SFO is read as a property; quote text: 'SFO'",
        ),
        (
            "name eq John Smith and a eq 1",
            "John Smith",
            "quote text: 'John Smith'",
        ),
        ("id eq a-b", "a-b", "quote text: 'a-b'"),
        (
            "'dest' eq 'SFO'",
            "'dest'",
            "write a property without quotes: dest",
        ),
        (
            "dest eq \"SFO\"",
            "\"",
            "quote text with single quotes: 'SFO'",
        ),
        ("dest EQ 'SFO'", "EQ", "write eq: operators are lower-case"),
        (
            "a eq 1 AND b eq 2",
            "AND",
            "write and: operators are lower-case",
        ),
        ("a = 1", "=", "write eq instead of ="),
        ("a == 1", "=", "write eq instead of ="),
        ("a != 1", "!", "write ne instead of !="),
        ("a >= 1", ">", "write ge instead of >="),
        ("a > 1", ">", "write gt instead of >"),
        ("a eq 1 && b eq 1", "&", "write and instead of &&"),
        ("a eq 1 || b eq 1", "|", "write or instead of ||"),
        ("a like 'x%'", "like", "Name ge 'abc' and Name lt 'abd'"),
        ("a in (1, 2)", "in", "a eq 1 or a eq 2"),
        ("a add 1 eq 5", "add", "no arithmetic"),
        ("a eq (5)", "(", "without parentheses"),
    ] {
        let (part, text) = hint(filter);
        assert!(
            part == marked && text.contains(expected),
            "{filter}: {part:?}: {text}"
        );
    }
}

#[test]
fn b8_each_wrong_literal_and_sign_has_a_place_and_a_hint() {
    for (filter, marked, expected) in [
        ("a eq null", "null", "Tables stores no null"),
        ("null ge a", "null", "Tables stores no null"),
        ("'x'", "'x'", "Name eq 'x'"),
        ("a eq 'x", "'x", "this quote is not closed"),
        ("a eq 5000000000", "5000000000", "write 5000000000L"),
        ("a eq 5abc", "5abc", "quote text: '5abc'"),
        ("d gt 2026-01-31", "-01", "datetime'2026-01-31T00:00:00Z'"),
        (
            "d gt datetime'soon'",
            "datetime'soon'",
            "datetime'2026-01-31T12:00:00Z'",
        ),
        (
            "d gt datetimeoffset'2026-01-01'",
            "datetimeoffset'2026-01-01'",
            "write datetime'",
        ),
        ("g eq guid'1'", "guid'1'", "guid'00000000-"),
        ("(a eq 1", "", "a ) is missing"),
        ("a eq 1)", ")", "this ) has no ("),
        ("a eq", "", "must follow"),
        ("eq 1", "eq", "must be here, not eq"),
        ("Address/City eq 'x'", "Address", "no parts"),
        ("$filter=a eq 1", "$", "leave out the $"),
    ] {
        let (part, text) = hint(filter);
        assert!(
            part == marked && text.contains(expected),
            "{filter}: {part:?}: {text}"
        );
    }
}

#[test]
fn b8_functions_are_named_with_what_tables_has_instead() {
    for (filter, name, expected) in [
        (
            "startswith(PartitionKey,'ab''s')",
            "startswith",
            "for texts that begin with abc: Name ge 'abc' and Name lt 'abd'",
        ),
        (
            "a eq 1 and startswith( PartitionKey , 'ab') eq true",
            "startswith",
            "write PartitionKey ge 'ab' and PartitionKey lt 'ac'",
        ),
        (
            "contains(Name,'a')",
            "contains",
            "no filter searches inside a text",
        ),
        (
            "substringof('a',Name)",
            "substringof",
            "no filter searches inside a text",
        ),
        (
            "not endswith(Name,'a')",
            "endswith",
            "no filter searches inside a text",
        ),
        ("tolower(Name) eq 'a'", "tolower", "store a lower-case copy"),
        ("'a' eq toupper(Name)", "toupper", "store a lower-case copy"),
        ("year(Date) eq 2026", "year", "Time ge datetime'2026-01-01"),
        ("round(a) eq 2", "round", "compare with bounds"),
        ("datetime('2026-01-31') lt a", "datetime", "datetime'...'"),
        (
            "made_up(a)",
            "made_up",
            "made_up is a function, and Tables has none",
        ),
    ] {
        let (part, text) = hint(filter);
        assert!(
            part == name && text.contains(expected),
            "{filter}: {part:?}: {text}"
        );
    }
}

/// The filter that a hint proposes for `startswith` is itself valid.
#[test]
fn b8_the_bounds_instead_of_startswith_are_a_filter() {
    for prefix in ["a", "a&", "é", "\u{D7FF}", "zz"] {
        let (_, text) = hint(&format!("startswith(Name,'{prefix}')"));
        let bounds = text.rsplit_once("write ").map_or("", |(_, bounds)| bounds);
        let bounds = bounds.rsplit(": ").next().unwrap_or_default();
        assert!(check_filter(bounds).is_ok(), "{bounds}");
    }
}

#[test]
fn b8_the_message_marks_the_wrong_part() {
    let message = |filter: &str| check_filter(filter).unwrap_err().to_string();
    assert_eq!(
        message("origin eq 'JFK' and dest eq SFO"),
        "invalid filter: SFO is read as a property; quote text: 'SFO'\n\
         \x20 origin eq 'JFK' and dest eq SFO\n\
         \x20                             ^^^"
    );
    assert_eq!(
        message("a eq"),
        "invalid filter: the filter ends here, but a property or a value must follow\n  a eq\n      ^"
    );
    let long = format!(
        "{} and dest eq SFO and {0}",
        vec!["a eq 1"; 40].join(" or ")
    );
    let message = message(&long);
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[1].chars().count() < 100, "{message}");
    let marked = lines[2].find('^').unwrap();
    assert_eq!(&lines[1][marked..marked + 3], "SFO");
}

#[test]
fn b8_a_hint_never_has_control_characters_or_unlimited_length() {
    for filter in [
        "a eq \u{1b}[2J",
        "a\u{7f}b eq 1",
        "a eq \"\r\nX-Evil: 1\"",
        "é eq ü",
    ] {
        let failure = parse_filter(filter).unwrap_err();
        let header = failure.hint.unwrap().header();
        assert!(
            header.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            "{header:?}"
        );
        let message = check_filter(filter).unwrap_err().to_string();
        assert!(
            message.chars().all(|c| c == '\n' || !c.is_control()),
            "{message:?}"
        );
    }
    let long = format!("a eq {}", "b".repeat(60_000));
    assert!(
        parse_filter(&long)
            .unwrap_err()
            .hint
            .unwrap()
            .header()
            .len()
            <= 240
    );
    assert!(check_filter(&long).unwrap_err().to_string().len() < 400);
}

proptest! {
    /// B8: whatever a client sends, the hint marks a part of the text, and the header is safe.
    #[test]
    fn b8_every_hint_is_within_the_text_and_safe(
        words in proptest::collection::vec(
            prop_oneof![
                "\\PC{0,6}", Just("eq".to_owned()), Just("'".to_owned()), Just("startswith(".to_owned()),
                Just("\u{1b}\r\n".to_owned()), Just("(".to_owned()), Just("5e".to_owned()), Just("\"é".to_owned()),
            ],
            0..8,
        ),
    ) {
        let text = words.join(" ");
        if let Err(failure) = parse_filter(&text)
            && let Some(hint) = failure.hint
        {
            prop_assert!(text.get(hint.start..hint.end).is_some());
            let header = hint.header();
            prop_assert!(header.len() <= 240 && header.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            let message = check_filter(&text).unwrap_err().to_string();
            prop_assert!(message.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
