//! Names of types on the command line and in migration files.

use partita_model::EdmType;

/// The type with this name: its protocol name with or without `Edm.`, or `int`, `long` or `bool`; case is ignored.
pub fn type_of(word: &str) -> Option<EdmType> {
    let word = word.to_ascii_lowercase();
    let word = word.strip_prefix("edm.").unwrap_or(&word);
    let by_name = EdmType::ALL.into_iter().find(|edm| {
        let name = edm.name().trim_start_matches("Edm.");
        name.eq_ignore_ascii_case(word)
    });
    by_name.or(match word {
        "int" => Some(EdmType::Int32),
        "long" => Some(EdmType::Int64),
        "bool" => Some(EdmType::Boolean),
        _ => None,
    })
}
