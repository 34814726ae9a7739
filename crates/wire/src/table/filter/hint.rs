//! What to write instead of a wrong part of a filter. Most wrong filters are OData that Tables does not have, SQL, or a
//! text without quotes.

use super::token::{Kind, Token};
use partita_model::EdmType;

/// Maximum length of a part of the filter that a hint quotes, in characters.
const QUOTED_MAX: usize = 40;
/// Comparisons and keywords, which must be lower-case.
const KEYWORDS: [&str; 9] = ["eq", "ne", "gt", "ge", "lt", "le", "and", "or", "not"];

/// A part of the filter, shortened.
fn short(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A text as a literal.
fn literal_of(text: &str) -> String {
    format!("'{}'", short(text).replace('\'', "''"))
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// The words from `start` on that were probably meant as one text: up to a keyword, a quote or a parenthesis.
pub(super) fn unquoted_text(filter: &str, start: usize) -> &str {
    let rest = filter.get(start..).unwrap_or_default();
    let rest = rest
        .split(['\'', '"', '(', ')', ','])
        .next()
        .unwrap_or_default();
    let mut end = 0;
    for word in rest.split_ascii_whitespace() {
        if end > 0 && KEYWORDS.iter().any(|it| word.eq_ignore_ascii_case(it)) {
            break;
        }
        // `word` is a part of `rest`, so the search succeeds.
        let from = rest
            .get(end..)
            .and_then(|rest| rest.find(word))
            .unwrap_or(0);
        end += from + word.len();
    }
    rest.get(..end).unwrap_or_default()
}

/// For a text without quotes on the right of a comparison.
pub(super) fn unquoted(text: &str) -> String {
    let (shown, quoted) = (short(text), literal_of(text));
    format!("{shown} is read as a property; quote text: {quoted}")
}

/// For a comparison of two literals.
pub(super) fn two_literals(left: &Token<'_>) -> String {
    let inner = left.text.trim_matches('\'');
    if left.kind == Kind::Quoted && is_name(inner) {
        let inner = short(inner);
        return format!("'{inner}' is a text; write a property without quotes: {inner}");
    }
    "one side of a comparison must be a property".to_owned()
}

/// For a literal without a comparison.
pub(super) fn lonely_literal(token: &Token<'_>) -> String {
    let value = short(token.text);
    format!("a value alone is not a condition; compare a property with it: Name eq {value}")
}

/// For a comparison with `null`.
pub(super) fn null() -> String {
    "Tables stores no null, so nothing can be compared with it; leave this condition out".to_owned()
}

/// For a token where an operand is expected.
pub(super) fn no_operand(token: &Token<'_>) -> String {
    match (token.kind, token.text) {
        (Kind::End, _) => "the filter ends here, but a property or a value must follow".to_owned(),
        (Kind::Close, _) => "a condition is missing before this parenthesis".to_owned(),
        (_, "-") => "Tables has no arithmetic; write the value that you mean".to_owned(),
        (_, "$") => "leave out the $: write the filter alone, with names of properties".to_owned(),
        (_, "=") => "write eq instead of =".to_owned(),
        (_, text) => format!("a property or a value must be here, not {}", short(text)),
    }
}

/// For a word where an operator, a parenthesis or the end is expected. `before` is the token before it.
pub(super) fn no_operator(token: &Token<'_>, before: &Token<'_>, opened: bool) -> String {
    let text = token.text;
    let lower = text.to_ascii_lowercase();
    match (token.kind, &*lower) {
        (Kind::End, _) if opened => "a ) is missing".to_owned(),
        (Kind::Close, _) => "this ) has no (".to_owned(),
        (Kind::Word, keyword) if keyword != text && KEYWORDS.contains(&keyword) => {
            format!("write {keyword}: operators are lower-case")
        }
        (Kind::Word, "eq" | "ne" | "gt" | "ge" | "lt" | "le") => {
            "a comparison cannot be compared; join comparisons by and".to_owned()
        }
        (Kind::Word, "like") => {
            "Tables has no patterns; for texts that begin with abc: Name ge 'abc' and Name lt 'abd'"
                .to_owned()
        }
        (Kind::Word, "between") => "write two bounds: Name ge 1 and Name le 5".to_owned(),
        (Kind::Word, "is") => "write eq instead of is".to_owned(),
        (Kind::Word, "in") => "Tables has no in; write each value: a eq 1 or a eq 2".to_owned(),
        (Kind::Word, "has") => "Tables has no has; compare with eq".to_owned(),
        (Kind::Word, "add" | "sub" | "mul" | "div" | "mod") => {
            "Tables has no arithmetic; write the value that you mean".to_owned()
        }
        (Kind::Number, _) if before.kind == Kind::Number && text.starts_with('-') => {
            "write a time as datetime'2026-01-31T00:00:00Z', and a text in quotes".to_owned()
        }
        (Kind::Sign, "=") => "write eq instead of =".to_owned(),
        (Kind::Sign, "," | ":" | "/" | "-" | "*" | "$") => {
            format!("{text} has no meaning here; quote text: 'a{text}b'")
        }
        (_, "") => "an operator is missing".to_owned(),
        _ => format!("and, or, or the end must be here, not {}", short(text)),
    }
}

/// For `(` on the right of a comparison.
pub(super) fn parenthesized_value() -> String {
    "write the value without parentheses".to_owned()
}

/// For a path such as `Address/City`.
pub(super) fn path() -> String {
    "properties of Tables have no parts; write the name of one property".to_owned()
}

/// For a function: what Tables has instead. `arguments` is the text after its parenthesis.
pub(super) fn function(name: &str, arguments: &str) -> String {
    let known = format!("{} is a function, and Tables has none; ", short(name));
    let instead = match &*name.to_ascii_lowercase() {
        "startswith" => prefix_bounds(arguments),
        "contains" | "substringof" | "endswith" | "indexof" | "matchespattern" => {
            "no filter searches inside a text: filter the rows after reading, or store that part in a property of its own".to_owned()
        }
        "tolower" | "toupper" => {
            "comparisons are case-sensitive: store a lower-case copy in a property, and compare that".to_owned()
        }
        "length" | "substring" | "trim" | "concat" | "replace" => {
            "store the result in a property of its own, and compare that".to_owned()
        }
        "year" | "month" | "day" | "hour" | "minute" | "second" | "date" | "time" | "now" => {
            "compare with bounds: Time ge datetime'2026-01-01T00:00:00Z' and Time lt datetime'2026-02-01T00:00:00Z'".to_owned()
        }
        "round" | "floor" | "ceiling" => {
            "compare with bounds: Value ge 1.5 and Value lt 2.5".to_owned()
        }
        "datetime" | "guid" | "binary" => {
            return format!("write the value without parentheses: {name}'...'");
        }
        _ => "compare properties with values: Name eq 'x'".to_owned(),
    };
    known + &instead
}

/// The bounds that stand for `startswith(Name,'abc')`.
fn prefix_bounds(arguments: &str) -> String {
    let bounds = || {
        let (name, rest) = arguments.split_once(',')?;
        let name = name.trim();
        let (prefix, after) = rest.trim_start().strip_prefix('\'')?.split_once('\'')?;
        let is_whole = after.trim_start().starts_with(')');
        let is_plain = is_name(name) && !prefix.is_empty() && is_whole;
        if !is_plain || prefix.chars().count() > QUOTED_MAX {
            return None;
        }
        let mut after: Vec<char> = prefix.chars().collect();
        let last = after.pop()?;
        // The next character; `None` where there is none, and for the gap of the surrogates.
        after.push(char::from_u32(u32::from(last) + 1)?);
        let after: String = after.into_iter().collect();
        let after = literal_of(&after);
        Some(format!("write {name} ge '{prefix}' and {name} lt {after}"))
    };
    bounds().unwrap_or_else(|| {
        "write bounds, for texts that begin with abc: Name ge 'abc' and Name lt 'abd'".to_owned()
    })
}

/// For a quote that is not closed.
pub(super) fn unclosed() -> String {
    "this quote is not closed; write '' for a quote inside a text".to_owned()
}

/// For a character that no filter has, at the beginning of `rest`.
pub(super) fn foreign_sign(rest: &str) -> String {
    let mut letters = rest.chars();
    let (first, second) = (letters.next().unwrap_or_default(), letters.next());
    let instead = match (first, second) {
        ('"', _) => {
            let inner = rest.get(1..).unwrap_or_default();
            let inner = inner.split('"').next().unwrap_or_default();
            return format!("quote text with single quotes: {}", literal_of(inner));
        }
        ('!', Some('=')) | ('<', Some('>')) => "ne",
        ('<', Some('=')) => "le",
        ('>', Some('=')) => "ge",
        ('<', _) => "lt",
        ('>', _) => "gt",
        ('&', _) => "and",
        ('|', _) => "or",
        ('!', _) => "not",
        ('+', _) => return "write a number without +".to_owned(),
        _ => return "this character has no meaning in a filter; quote text: 'a b'".to_owned(),
    };
    let wrong = match second {
        Some('=' | '>' | '&' | '|') => rest.get(..2).unwrap_or_default().to_owned(),
        _ => first.to_string(),
    };
    format!("write {instead} instead of {wrong}")
}

/// For a literal that is not valid for its type.
pub(super) fn literal(edm: EdmType, text: &str) -> String {
    match edm {
        EdmType::Int32 => format!(
            "too large for an Int32; for an Int64 write {}L",
            short(text)
        ),
        EdmType::Int64 => {
            "not an Int64; write a whole number of at most 19 digits, such as 123L".to_owned()
        }
        EdmType::Double => "not a Double; write digits on both sides of the point: 1.5".to_owned(),
        EdmType::DateTime => {
            "not a date-time; write for example datetime'2026-01-31T12:00:00Z'".to_owned()
        }
        EdmType::Guid => {
            "not a GUID; write for example guid'00000000-0000-0000-0000-000000000000'".to_owned()
        }
        EdmType::Binary => {
            "not binary; write two hexadecimal digits for each byte: X'01ff'".to_owned()
        }
        EdmType::Boolean | EdmType::String => "not a valid value".to_owned(),
    }
}

/// For a number with letters after it.
pub(super) fn number_suffix(text: &str) -> String {
    format!(
        "{} is not a number; an Int64 ends in L; quote text: {}",
        short(text),
        literal_of(text)
    )
}

/// For a word before a quote that is not a type.
pub(super) fn literal_prefix(prefix: &str) -> String {
    let instead = match &*prefix.to_ascii_lowercase() {
        "datetime" | "datetimeoffset" | "date" | "time" | "timestamp" => {
            "write datetime'2026-01-31T12:00:00Z'"
        }
        "guid" | "uuid" => "write guid'00000000-0000-0000-0000-000000000000'",
        _ => "only datetime, guid and X stand before a quote",
    };
    format!("{}'...' is not a type of value; {instead}", short(prefix))
}
