//! The partition at which a page begins, as far as the client can tell. It decides only which server of a cluster is asked.

use super::{Continuation, QueryOptions};
use partita_model::{Comparison, Filter, Property, Value, compare_utf16};
use partita_wire::table::{parse_filter, read_entity_token};

impl QueryOptions {
    /// The first PartitionKey of the page at `from`; empty if it is not known.
    pub(crate) fn first_partition(&self, from: Option<&Continuation>) -> String {
        if let Some(token) = from.and_then(Continuation::token) {
            let (partition_key, row_key) =
                (&token.next_partition_key, token.next_row_key.as_deref());
            let position = read_entity_token(Some(partition_key), row_key);
            let position = position.ok().flatten();
            return position.map_or_else(String::new, |position| position.partition_key);
        }
        let filter = self.filter.as_ref();
        let filter = filter.and_then(|filter| parse_filter(&filter.to_string()).ok());
        filter.as_ref().and_then(first_of).unwrap_or_default()
    }
}

/// A PartitionKey before which no row passes the filter.
fn first_of(filter: &Filter) -> Option<String> {
    match filter {
        Filter::Compare {
            property: Property::PartitionKey,
            op: Comparison::Equal | Comparison::Greater | Comparison::GreaterOrEqual,
            literal: Value::String(key),
        } => Some(key.to_string()),
        Filter::And(filters) => {
            let keys = filters.iter().filter_map(first_of);
            keys.max_by(|a, b| compare_utf16(a, b))
        }
        Filter::Or(filters) => {
            let keys: Option<Vec<_>> = filters.iter().map(first_of).collect();
            keys?.into_iter().min_by(|a, b| compare_utf16(a, b))
        }
        Filter::Compare { .. } | Filter::IsTrue(_) | Filter::Constant(_) | Filter::Not(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::EntityPosition;
    use partita_wire::table::write_entity_token;

    fn first(filter: &str) -> String {
        let filter = crate::Filter::raw(filter);
        QueryOptions::new().filter(filter).first_partition(None)
    }

    #[test]
    fn a_filter_bounds_the_first_partition() {
        for (filter, expected) in [
            ("PartitionKey eq 'b'", "b"),
            (
                "A eq 1 and PartitionKey ge 'b' and PartitionKey lt 'c'",
                "b",
            ),
            ("PartitionKey gt 'b' and PartitionKey ge 'c'", "c"),
            ("PartitionKey eq 'c' or PartitionKey eq 'b'", "b"),
            ("PartitionKey eq 'c' or A eq 1", ""),
            ("not (PartitionKey eq 'c')", ""),
            ("PartitionKey lt 'c'", ""),
            ("not a filter", ""),
        ] {
            assert_eq!(first(filter), expected, "{filter}");
        }
    }

    #[test]
    fn a_continuation_has_the_first_partition() {
        let token = write_entity_token(&EntityPosition {
            partition_key: "m".to_owned(),
            row_key: Some("r".to_owned()),
        });
        let filter = crate::Filter::raw("PartitionKey ge 'b'");
        let options = QueryOptions::new().filter(filter);
        assert_eq!(options.first_partition(Some(&token.into())), "m");
        let opaque = "NextPartitionKey=opaque".parse().unwrap();
        assert_eq!(options.first_partition(Some(&opaque)), "");
    }
}
