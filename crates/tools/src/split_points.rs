//! The PartitionKeys at which a server's ranges begin within a table, from `GET /admin/v1/ranges` of Partita's admin
//! port.
//!
//! Split points are an optimisation: a scan returns the same rows without them.

use crate::admin::{AdminError, AdminOptions, AdminPort};
use partita_wire::admin::Ranges;
use std::sync::Arc;
use std::time::Duration;

/// The timeout of the whole request. It is short because a scan works without split points.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The PartitionKeys at which ranges begin within a table, in key order. `admin` is the URL of the admin port,
/// `http://host:port`; `authorities_pem` are additional certificate authorities to trust for `https`.
///
/// # Errors
/// [`AdminError`].
pub async fn split_points(
    admin: &str,
    authorities_pem: &[Vec<u8>],
    account: &str,
    table: &str,
) -> Result<Vec<String>, AdminError> {
    let options = AdminOptions {
        page_timeout: TIMEOUT,
        authorities_pem: authorities_pem.to_vec(),
    };
    let port = AdminPort::new(admin, options, Arc::default())?;
    let ranges = port.ranges().await?.document;
    Ok(starts_within(ranges, account, table))
}

fn starts_within(ranges: Ranges, account: &str, table: &str) -> Vec<String> {
    let starts = ranges.ranges.into_iter().filter_map(|range| range.start);
    let within = starts.filter(|start| {
        let is_table = |name: &String| name.eq_ignore_ascii_case(table);
        start.account.as_deref() == Some(account) && start.table.as_ref().is_some_and(is_table)
    });
    within.filter_map(|start| start.partition_key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::admin::{Missing, NamedKey, Range, RangeFiles};

    fn range(start: Option<(&str, Option<&str>, Option<&str>)>) -> Range {
        let start = start.map(|(account, table, partition_key)| NamedKey {
            account: Some(account.to_owned()),
            table: table.map(str::to_owned),
            partition_key: partition_key.map(str::to_owned),
            ..NamedKey::default()
        });
        Range {
            id: 1,
            server: None,
            epoch: 1,
            start,
            end: None,
            layout: RangeFiles::default(),
            frozen: false,
            requests_per_second: None,
            cores: None,
            last_window: None,
            hot_partitions: Vec::new(),
            growth: Vec::new(),
        }
    }

    #[test]
    fn only_range_starts_within_the_table_count() {
        let ranges = Ranges {
            map_version: 3,
            ranges: vec![
                range(None),
                range(Some(("a", Some("people"), Some("m")))),
                range(Some(("a", None, Some("n")))),
                range(Some(("b", Some("people"), Some("o")))),
                range(Some(("a", Some("people"), None))),
            ],
            change: None,
            orphans: Vec::new(),
            balanced: 0,
            no_split_key: 0,
            missing: Missing::default(),
        };
        assert_eq!(starts_within(ranges, "a", "People"), ["m"]);
    }
}
