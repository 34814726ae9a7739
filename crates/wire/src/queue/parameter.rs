//! Reads one number from a query.

use super::error::out_of_range;
use crate::{Failure, Query};
use std::ops::RangeInclusive;

/// The value of a parameter that is a whole number of this range; `None` without the parameter.
///
/// # Errors
/// 400 OutOfRangeQueryParameterValue for another number, InvalidQueryParameterValue for any other text.
pub(super) fn number_in(
    query: Query<'_>,
    name: &str,
    range: RangeInclusive<i64>,
) -> Result<Option<i64>, Failure> {
    let Some(text) = query.get(name)? else {
        return Ok(None);
    };
    match number(&text) {
        Some(number) if range.contains(&number) => Ok(Some(number)),
        Some(_) => Err(out_of_range(name, &text, *range.start(), *range.end())),
        None => Err(Failure::query_parameter(name, &text)),
    }
}

/// A whole number, with or without a minus sign. Numbers outside the type become its smallest or largest number.
pub(super) fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let limit = if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    Some(text.parse().unwrap_or(limit))
}
