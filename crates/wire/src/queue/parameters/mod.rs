//! The query parameters of operations on messages (service documents "Put Message", "Get Messages", "Peek Messages",
//! "Update Message", "Delete Message").
//!
//! The errors name the parameter, its value, and either the allowed range or a reason, as in recorded answers.

use super::error::{missing_parameter, out_of_range, with_reason};
use super::parameter::{number, number_in};
use crate::{Failure, Query, Version};
use partita_model::limits::{MESSAGES_MAX, VISIBILITY_SECONDS_MAX};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The time to live of a message without `messagettl`, and the longest one before [`ANY_TIME_TO_LIVE`]: seven days, in
/// seconds.
const TIME_TO_LIVE_SECONDS: i64 = 7 * 86_400;
/// The visibility timeout of Get Messages without `visibilitytimeout`, in seconds.
const GET_VISIBILITY_SECONDS: u64 = 30;
/// The maximum visibility timeout before [`LONG_VISIBILITY`], in seconds.
const SHORT_VISIBILITY_SECONDS_MAX: u64 = 2 * 3600;
/// The first version with visibility timeouts of more than two hours (2011-08-18).
const LONG_VISIBILITY: Version = Version::from_date(20_110_818);
/// The first version in which a message can live any time, or forever (2017-07-29).
const ANY_TIME_TO_LIVE: Version = Version::from_date(20_170_729);

const VISIBILITY: &str = "visibilitytimeout";
const TIME_TO_LIVE: &str = "messagettl";
/// No recording has this reason.
const TIME_TO_LIVE_REASON: &str = "messagettl must be -1 or a positive number of seconds";
const POP_RECEIPT: &str = "popreceipt";

/// The parameters of Put Message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutParameters {
    /// How long the message is invisible.
    pub visibility_timeout: Duration,
    /// How long the message exists; `None` if it never expires.
    pub time_to_live: Option<Duration>,
}

/// The parameters of Get Messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetParameters {
    /// The number of messages at most.
    pub count: usize,
    /// How long the messages are invisible.
    pub visibility_timeout: Duration,
}

/// The parameters of Update Message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateParameters<'a> {
    /// The text of the pop receipt, which may not be one.
    pub pop_receipt: Cow<'a, str>,
    /// How long the message is invisible.
    pub visibility_timeout: Duration,
}

impl PutParameters {
    /// Reads `visibilitytimeout` and `messagettl`.
    ///
    /// # Errors
    /// 400 OutOfRangeQueryParameterValue, InvalidQueryParameterValue; the latter also if the message would expire before
    /// it is visible.
    pub fn parse(query: Query<'_>, version: Version) -> Result<Self, Failure> {
        let visibility_timeout = visibility(query, 0, version)?.unwrap_or_default();
        let time_to_live = time_to_live(query, version)?;
        if time_to_live.is_some_and(|time_to_live| time_to_live <= visibility_timeout) {
            return Err(with_reason(
                VISIBILITY,
                &visibility_timeout.as_secs().to_string(),
                "messagettl must be greater than visibilitytimeout",
            ));
        }
        Ok(Self {
            visibility_timeout,
            time_to_live,
        })
    }
}

impl GetParameters {
    /// Reads `numofmessages` and `visibilitytimeout`.
    ///
    /// # Errors
    /// 400 OutOfRangeQueryParameterValue, InvalidQueryParameterValue.
    pub fn parse(query: Query<'_>, version: Version) -> Result<Self, Failure> {
        let default = Duration::from_secs(GET_VISIBILITY_SECONDS);
        Ok(Self {
            count: count(query)?,
            visibility_timeout: visibility(query, 1, version)?.unwrap_or(default),
        })
    }
}

impl<'a> UpdateParameters<'a> {
    /// Reads `popreceipt` and `visibilitytimeout`, which are required.
    ///
    /// # Errors
    /// 400 MissingRequiredQueryParameter, OutOfRangeQueryParameterValue, InvalidQueryParameterValue.
    pub fn parse(query: Query<'a>, version: Version) -> Result<Self, Failure> {
        let visibility_timeout = visibility(query, 0, version)?;
        Ok(Self {
            pop_receipt: pop_receipt(query)?,
            visibility_timeout: visibility_timeout.ok_or_else(|| missing_parameter(VISIBILITY))?,
        })
    }
}

/// The number of messages of Peek Messages.
///
/// # Errors
/// 400 OutOfRangeQueryParameterValue, InvalidQueryParameterValue.
pub fn peek_count(query: Query<'_>) -> Result<usize, Failure> {
    count(query)
}

/// The text of the pop receipt in Update Message and Delete Message. A raw `+` is literal, because receipts are Base64.
///
/// # Errors
/// 400 MissingRequiredQueryParameter.
pub fn pop_receipt(query: Query<'_>) -> Result<Cow<'_, str>, Failure> {
    query
        .get_base64(POP_RECEIPT)?
        .ok_or_else(|| missing_parameter(POP_RECEIPT))
}

fn count(query: Query<'_>) -> Result<usize, Failure> {
    let range = 1..=signed(MESSAGES_MAX as u64);
    let count = number_in(query, "numofmessages", range)?;
    Ok(count.map_or(1, |count| usize::try_from(count).unwrap_or(1)))
}

/// The visibility timeout, of at least this many seconds.
fn visibility(
    query: Query<'_>,
    seconds_min: i64,
    version: Version,
) -> Result<Option<Duration>, Failure> {
    let seconds_max = if version >= LONG_VISIBILITY {
        VISIBILITY_SECONDS_MAX
    } else {
        SHORT_VISIBILITY_SECONDS_MAX
    };
    let range: RangeInclusive<i64> = seconds_min..=signed(seconds_max);
    Ok(number_in(query, VISIBILITY, range)?.map(seconds))
}

/// The time to live; `None` for a message that never expires.
fn time_to_live(query: Query<'_>, version: Version) -> Result<Option<Duration>, Failure> {
    let Some(text) = query.get(TIME_TO_LIVE)? else {
        return Ok(Some(seconds(TIME_TO_LIVE_SECONDS)));
    };
    let any = version >= ANY_TIME_TO_LIVE;
    match number(&text) {
        Some(-1) if any => Ok(None),
        Some(number) if number > TIME_TO_LIVE_SECONDS && !any => {
            Err(out_of_range(TIME_TO_LIVE, &text, 1, TIME_TO_LIVE_SECONDS))
        }
        Some(number) if number > 0 => Ok(Some(seconds(number))),
        _ => Err(with_reason(TIME_TO_LIVE, &text, TIME_TO_LIVE_REASON)),
    }
}

/// A duration that is not negative.
fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
