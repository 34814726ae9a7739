//! The query parameters of List Queues, and its marker (service document "List Queues").

use super::parameter::number_in;
use crate::{ErrorCode, Failure, Query};
use partita_model::QueueName;
use partita_model::limits::PAGE_QUEUES_MAX;
use std::borrow::Cow;

/// The parameters of List Queues. The answer repeats those that were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListParameters<'a> {
    /// `prefix`: only queues whose names begin with it.
    pub prefix: Option<Cow<'a, str>>,
    /// `marker`, as sent.
    pub marker: Option<Cow<'a, str>>,
    /// `maxresults`
    pub max_results: Option<u32>,
    /// Whether `include` is `metadata`.
    pub include_metadata: bool,
    /// The name in the marker, at which the page begins; `None` for the first page.
    pub first: Option<String>,
}

impl<'a> ListParameters<'a> {
    /// Reads the parameters of a request for this account.
    ///
    /// # Errors
    /// 400 OutOfRangeQueryParameterValue for a `maxresults` below one, InvalidQueryParameterValue for another text and
    /// for an unknown `include`, InvalidMarker.
    pub fn parse(query: Query<'a>, account: &str) -> Result<Self, Failure> {
        let marker = query.get("marker")?;
        let first = marker.as_deref().filter(|marker| !marker.is_empty());
        let max_results = number_in(query, "maxresults", 1..=i64::from(i32::MAX))?;
        Ok(Self {
            prefix: query.get("prefix")?,
            first: first
                .map(|marker| read_marker(marker, account))
                .transpose()?,
            marker,
            max_results: max_results.and_then(|number| u32::try_from(number).ok()),
            include_metadata: includes_metadata(query)?,
        })
    }

    /// The number of queues on the page at most. A larger `maxresults` than the service's limit counts as the limit.
    pub fn top(&self) -> usize {
        let wanted = self.max_results.and_then(|number| number.try_into().ok());
        wanted.map_or(PAGE_QUEUES_MAX, |wanted: usize| wanted.min(PAGE_QUEUES_MAX))
    }
}

fn includes_metadata(query: Query<'_>) -> Result<bool, Failure> {
    let include = query.get("include")?.unwrap_or_default();
    let mut parts = include
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let all_known = parts.all(|part| part.eq_ignore_ascii_case("metadata"));
    if !all_known {
        return Err(Failure::query_parameter("include", &include));
    }
    Ok(!include.trim_matches([',', ' ']).is_empty())
}

/// The marker for a page that begins at this queue: `/account/queue`.
pub fn write_marker(account: &str, queue: &str) -> String {
    format!("/{account}/{queue}")
}

/// The name in a marker, which is the text of [`write_marker`] or the name alone.
fn read_marker(marker: &str, account: &str) -> Result<String, Failure> {
    let name = match marker.strip_prefix('/') {
        Some(rest) => rest
            .strip_prefix(account)
            .and_then(|rest| rest.strip_prefix('/')),
        None => Some(marker),
    };
    let name = name.and_then(|name| QueueName::new(name).ok());
    let name = name.ok_or(ErrorCode::InvalidMarker)?;
    Ok(name.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::code;
    use proptest::prelude::*;

    fn parse(query: &str) -> Result<ListParameters<'_>, Failure> {
        ListParameters::parse(Query::new(query), "acct")
    }

    #[test]
    fn parameters_are_read_as_sent() {
        let parameters =
            parse("comp=list&prefix=q%20&maxresults=3&include=Metadata&marker=/acct/queue2")
                .unwrap();
        assert_eq!(
            parameters,
            ListParameters {
                prefix: Some("q ".into()),
                marker: Some("/acct/queue2".into()),
                max_results: Some(3),
                include_metadata: true,
                first: Some("queue2".to_owned()),
            }
        );
        assert_eq!(parse("comp=list&include="), Ok(ListParameters::default()));
        assert_eq!(
            (parameters.top(), ListParameters::default().top()),
            (3, 5000)
        );
        // More than the limit counts as the limit.
        assert_eq!(parse("maxresults=5001").unwrap().top(), 5000);
    }

    #[test]
    fn a_marker_is_ours_or_a_name() {
        let first = |marker: &str| parse(&format!("marker={marker}")).map(|parsed| parsed.first);
        for marker in [
            "%2Facct%2Fqueue2",
            "queue2",
            &write_marker("acct", "queue2"),
        ] {
            assert_eq!(first(marker), Ok(Some("queue2".to_owned())), "{marker}");
        }
        assert_eq!(first(""), Ok(None));
        for bad in [
            "/other/queue2",
            "/acct",
            "/acct/",
            "/acct/q",
            "//acct/queue2",
            "/acct/a/b",
            "Queue2",
            "$logs",
        ] {
            assert_eq!(code(first(bad)), ErrorCode::InvalidMarker, "{bad}");
        }
    }

    #[test]
    fn other_values_are_refused() {
        for bad in ["maxresults=0", "maxresults=-1", "maxresults=2147483648"] {
            assert_eq!(
                code(parse(bad)),
                ErrorCode::OutOfRangeQueryParameterValue,
                "{bad}"
            );
        }
        for bad in [
            "maxresults=",
            "maxresults=x",
            "include=all",
            "include=metadata,x",
        ] {
            assert_eq!(
                code(parse(bad)),
                ErrorCode::InvalidQueryParameterValue,
                "{bad}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(query: String, shaped in "(marker|maxresults|include|prefix|=|&|/|[a-z0-9%]){0,12}") {
            let _ = (parse(&query), parse(&shaped));
        }
    }
}
