//! System query options of OData: `$top`, and the options that the Table service does not support.

use crate::uri::decode_query;
use crate::{ErrorCode, Failure, Query};
use partita_model::limits::PAGE_ENTITIES_MAX;

/// Options of OData that the Table service does not support.
const UNSUPPORTED: [&str; 8] = [
    "$orderby",
    "$skip",
    "$expand",
    "$count",
    "$inlinecount",
    "$skiptoken",
    "$search",
    "$apply",
];

/// Refuses the options of OData that the Table service does not support: ignoring `$orderby` or `$skip` would give
/// wrong results. (The service's answer to `OrderBy`: article "Windows Azure Table Storage LINQ Support".)
///
/// # Errors
/// 501 NotImplemented.
pub fn check_query_options(query: Query<'_>) -> Result<(), Failure> {
    for (name, _) in query.pairs() {
        if !name.starts_with(['$', '%']) {
            continue;
        }
        let name = decode_query(name).unwrap_or_default().to_ascii_lowercase();
        if UNSUPPORTED.contains(&name.as_str()) {
            return Err(ErrorCode::NotImplemented.into());
        }
    }
    Ok(())
}

/// Reads the decoded value of `$top`: 0 to 1000 entities or tables on a page. Zero gives an empty page.
///
/// # Errors
/// 400 InvalidInput for anything else (service document "Querying tables and entities"; a test suite of another
/// project asserts the code for negative and larger values).
pub fn parse_top(text: &str) -> Result<usize, Failure> {
    let digits = text.trim();
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(count) if all_digits && count <= PAGE_ENTITIES_MAX => Ok(count),
        _ => Err(ErrorCode::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_is_at_most_a_thousand() {
        for (text, count) in [("0", 0), ("1", 1), ("1000", 1000), (" 5", 5), ("007", 7)] {
            assert_eq!(parse_top(text), Ok(count));
        }
        for bad in [
            "",
            "-1",
            "+1",
            "1001",
            "1.0",
            "x",
            "99999999999999999999999",
            "١",
        ] {
            assert_eq!(
                parse_top(bad).unwrap_err().code,
                ErrorCode::InvalidInput,
                "{bad}"
            );
        }
    }
}
