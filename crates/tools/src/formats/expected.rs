//! Describes invalid values and what would be valid, for people who write files by hand or by their own programs.

use partita_model::EdmType;

/// Longest part of an invalid value that a message repeats, in characters.
const VALUE_CHARACTERS_MAX: usize = 40;

/// The message for a text that is not a value of a type.
pub(super) fn invalid_value(text: &str, edm: EdmType) -> String {
    let (text, name) = (shortened(text), edm.name());
    format!("{text} is not a valid {name}; expected {}", values_of(edm))
}

/// The message for a type that does not exist.
pub(super) fn unknown_type(name: &str) -> String {
    let types = EdmType::ALL.map(EdmType::name).join(", ");
    format!("{} is not a type; expected one of {types}", shortened(name))
}

/// The text in quotes, without its end if it is long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// The values that a type has.
const fn values_of(edm: EdmType) -> &'static str {
    match edm {
        EdmType::String => "text",
        EdmType::Boolean => "true or false",
        EdmType::Int32 => "a whole number from -2147483648 to 2147483647",
        EdmType::Int64 => "a whole number from -9223372036854775808 to 9223372036854775807",
        EdmType::Double => "a number with a decimal point, NaN, Infinity or -Infinity",
        EdmType::DateTime => {
            "a date-time between the years 1601 and 9999, such as 2024-01-02T03:04:05Z"
        }
        EdmType::Guid => "a GUID, such as 0f8fad5b-d9cd-469f-a165-70867728950e",
        EdmType::Binary => "Base64, such as AAE=",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(shortened("a\"é"), "\"a\\\"é\"");
        let cut = shortened(&"é".repeat(41));
        assert_eq!(cut, format!("\"{}\"…", "é".repeat(40)));
    }
}
