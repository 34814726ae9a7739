//! Owner hints: the header [`OWNER_HEADER`], from which a client of a cluster learns which server has its data.
//!
//! A request has the header to ask for a hint. Its value is [`ASKS_FOR_OWNER`], or the id of the cluster that the request
//! is for. The answer of a server of a cluster then has the header too, with a value like a query string:
//!
//! ```text
//! cluster=4f3a…                                                      the id of the cluster
//! cluster=4f3a…&url=http%3A%2F%2F10.0.0.8%3A10002&from=h&to=p        and where requests of these partitions are served
//! ```
//!
//! Invariants:
//! - `from` is the first PartitionKey of the hint, absent for the start of the table or queue; `to` is the first after it,
//!   absent for the end;
//! - a hint never decides about data: a server that does not have the data forwards the request.

use std::borrow::Cow;

use crate::{Query, push_query_parameter};

/// The name of the header.
pub const OWNER_HEADER: &str = "x-partita-owner";

/// The value of the header in a request to a server whose cluster is not known.
pub const ASKS_FOR_OWNER: &str = "?";

/// The longest value of the header in an answer, in bytes. A hint with longer keys is not sent.
const BYTES_MAX: usize = 2048;

/// The longest id of a cluster, in bytes.
const CLUSTER_BYTES_MAX: usize = 64;

/// The value of the header in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerHint<'a> {
    /// The id of the cluster of the server.
    pub cluster: Cow<'a, str>,
    /// Which server has the data; `None` for requests without a place in a table or queue, if the owner is not known, and
    /// if the client has reached it.
    pub owner: Option<HintedOwner<'a>>,
}

/// A server, and the part of the request's table or queue that it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintedOwner<'a> {
    /// Scheme, host and port, such as `http://10.0.0.8:10002`.
    pub url: Cow<'a, str>,
    /// The first PartitionKey; empty for the start.
    pub from: Cow<'a, str>,
    /// The first PartitionKey after the part; `None` for the end of the table or queue.
    pub to: Option<Cow<'a, str>>,
}

impl<'a> OwnerHint<'a> {
    /// The value of the header: visible ASCII. It has no owner if it would be too long with it.
    #[must_use]
    pub fn header(&self) -> String {
        let mut text = String::with_capacity(128);
        push_query_parameter("cluster", &self.cluster, &mut text);
        let bytes = text.len();
        if let Some(owner) = &self.owner {
            push_query_parameter("url", &owner.url, &mut text);
            if !owner.from.is_empty() {
                push_query_parameter("from", &owner.from, &mut text);
            }
            if let Some(to) = &owner.to {
                push_query_parameter("to", to, &mut text);
            }
        }
        if text.len() > BYTES_MAX {
            text.truncate(bytes);
        }
        text
    }

    /// Reads the value of the header. `None` for a value that is too long, without the id of a cluster or with a long one,
    /// or with a part that is not UTF-8.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let query = Query::new(text);
        let cluster = query.get("cluster").ok()?;
        let owner = match query.get("url").ok()? {
            Some(url) => Some(HintedOwner {
                url,
                from: query.get("from").ok()?.unwrap_or_default(),
                to: query.get("to").ok()?,
            }),
            None => None,
        };
        let is_id = |cluster: &Cow<'_, str>| (1..=CLUSTER_BYTES_MAX).contains(&cluster.len());
        let cluster = cluster.filter(is_id)?;
        Some(Self { cluster, owner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hint<'a>(url: &'a str, from: &'a str, to: Option<&'a str>) -> OwnerHint<'a> {
        OwnerHint {
            cluster: "c1".into(),
            owner: Some(HintedOwner {
                url: url.into(),
                from: from.into(),
                to: to.map(Cow::Borrowed),
            }),
        }
    }

    #[test]
    fn the_header_is_a_query_string() {
        let text = hint("http://10.0.0.8:10002", "a b", Some("é")).header();
        assert_eq!(
            text,
            "cluster=c1&url=http%3A%2F%2F10.0.0.8%3A10002&from=a%20b&to=%C3%A9"
        );
        let none = OwnerHint {
            cluster: "c1".into(),
            owner: None,
        };
        assert_eq!(none.header(), "cluster=c1");
        assert_eq!(OwnerHint::parse("cluster=c1"), Some(none));
    }

    #[test]
    fn a_hint_with_long_keys_has_no_owner() {
        let long = "k".repeat(BYTES_MAX);
        assert_eq!(hint("http://h:1", &long, None).header(), "cluster=c1");
        assert_eq!(OwnerHint::parse(&format!("cluster={long}")), None);
    }

    #[test]
    fn a_value_without_a_cluster_is_no_hint() {
        for text in ["", "?", "url=http://h:1", "cluster=", "cluster=%FF"] {
            assert_eq!(OwnerHint::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn hints_round_trip(from in any::<String>(), to in proptest::option::of(any::<String>())) {
            let sent = hint("https://[::1]:10002", &from, to.as_deref());
            let text = sent.header();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            if text.contains("url=") {
                prop_assert_eq!(OwnerHint::parse(&text), Some(sent.clone()));
            }
        }

        #[test]
        fn reading_any_text_does_not_panic(text in any::<String>()) {
            let _ = OwnerHint::parse(&text);
        }
    }
}
