//! `partita explain`: the query plan of a filter, without a server.
//!
//! Uses the server's planner. The JSON has the form of the `x-partita-explain` header, without the counts of an
//! execution.

use partita_model::{EntityBound, EntityRange};
use partita_table::{Plan, QueryClass};
use partita_wire::table::{InvalidFilter, check_filter};
use serde_json::Value;

use crate::front;

/// The plan of a filter.
#[derive(Debug)]
pub struct Explained(Plan);

/// The maximum number of key ranges that are listed; more are only counted.
const SPANS_LISTED: usize = 20;

impl Explained {
    /// Plans the text of a `$filter`.
    ///
    /// # Errors
    /// [`InvalidFilter`] for a filter that the service would refuse.
    pub fn new(filter: &str) -> Result<Explained, InvalidFilter> {
        let filter = check_filter(filter)?;
        Ok(Explained(Plan::new(Some(&filter))))
    }

    /// The plan for programs.
    pub fn as_json(&self) -> Value {
        front::table::explain_plan(&self.0)
    }

    /// The plan as text: query class, key ranges read, conditions tested per row.
    pub fn as_text(&self) -> String {
        let plan = &self.0;
        let class = plan.class();
        let mut text = format!("class  {}: {}\n", class.name(), meaning(class));
        if plan.spans.is_empty() {
            text.push_str("reads  nothing: no row can match\n");
        }
        for (index, span) in plan.spans.iter().take(SPANS_LISTED).enumerate() {
            let label = if index == 0 { "reads" } else { "" };
            text.push_str(&format!("{label:5}  {}\n", span_text(span)));
        }
        let more = plan.spans.len().saturating_sub(SPANS_LISTED);
        if more > 0 {
            text.push_str(&format!("       and {more} more key ranges\n"));
        }
        match &plan.residual {
            Some(residual) => text.push_str(&format!("tests  {residual}, on each row read\n")),
            None => text.push_str("tests  nothing: every row read is returned\n"),
        }
        text
    }
}

fn meaning(class: QueryClass) -> &'static str {
    match class {
        QueryClass::Point => "single entities by PartitionKey and RowKey; the cheapest class",
        QueryClass::RowRangeScan => "part of single partitions; cost grows with the rows read",
        QueryClass::PartitionRangeScan => "several partitions; cost grows with the rows read",
        QueryClass::FullTableScan => "the whole table, however few rows match",
    }
}

fn span_text(span: &EntityRange) -> String {
    match (span.point(), &span.start, &span.end) {
        (Some((partition, row)), ..) => {
            format!("row {} of partition {}", quoted(row), quoted(partition))
        }
        (None, EntityBound::TableStart, EntityBound::TableEnd) => "every row".to_owned(),
        (None, EntityBound::BeforePartition(start), EntityBound::AfterPartition(end))
            if start == end =>
        {
            format!("partition {}", quoted(start))
        }
        (None, start, end) => format!("from {} to {}", bound_text(start), bound_text(end)),
    }
}

fn bound_text(bound: &EntityBound) -> String {
    let partition_text = |partition| format!("partition {}", quoted(partition));
    let row_text = |partition, row| format!("row {} of {}", quoted(row), partition_text(partition));
    match bound {
        EntityBound::TableStart => "the start of the table".to_owned(),
        EntityBound::TableEnd => "the end of the table".to_owned(),
        EntityBound::BeforePartition(partition) => format!("before {}", partition_text(partition)),
        EntityBound::AfterPartition(partition) => format!("after {}", partition_text(partition)),
        EntityBound::Before(partition, row) => format!("before {}", row_text(partition, row)),
        EntityBound::After(partition, row) => format!("after {}", row_text(partition, row)),
    }
}

/// A key as a literal of the filter language, with control characters escaped.
fn quoted(key: &str) -> String {
    let escaped = key.replace('\'', "''");
    let mut text = String::new();
    for letter in escaped.chars() {
        match letter.is_control() {
            true => text.extend(letter.escape_unicode()),
            false => text.push(letter),
        }
    }
    format!("'{text}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(filter: &str) -> String {
        Explained::new(filter).unwrap().as_text()
    }

    #[test]
    fn each_class_is_described() {
        assert_eq!(
            text("PartitionKey eq 'it''s' and RowKey eq 'b'"),
            "class  point: single entities by PartitionKey and RowKey; the cheapest class\n\
             reads  row 'b' of partition 'it''s'\n\
             tests  nothing: every row read is returned\n"
        );
        assert_eq!(
            text("PartitionKey eq 'a' and RowKey ge 'b' and n gt 5"),
            "class  row range scan: part of single partitions; cost grows with the rows read\n\
             reads  from before row 'b' of partition 'a' to after partition 'a'\n\
             tests  n gt 5, on each row read\n"
        );
        assert_eq!(
            text("PartitionKey gt 'a'"),
            "class  partition range scan: several partitions; cost grows with the rows read\n\
             reads  from after partition 'a' to the end of the table\n\
             tests  nothing: every row read is returned\n"
        );
        assert_eq!(
            text("n eq 1"),
            "class  full table scan: the whole table, however few rows match\n\
             reads  every row\n\
             tests  n eq 1, on each row read\n"
        );
    }

    #[test]
    fn many_key_ranges_are_listed_up_to_a_limit() {
        let keys: Vec<String> = (10..40).map(|n| format!("PartitionKey eq '{n}'")).collect();
        let text = text(&keys.join(" or "));
        assert!(
            text.contains("reads  partition '10'\n       partition '11'\n"),
            "{text}"
        );
        assert!(text.contains("       and 10 more key ranges\n"), "{text}");
    }

    #[test]
    fn invalid_filters_are_refused_and_control_characters_escaped() {
        assert!(Explained::new("PartitionKey eq").is_err());
        assert!(
            !text("PartitionKey eq '\u{1b}[2J'")
                .lines()
                .nth(1)
                .unwrap()
                .contains('\u{1b}')
        );
    }
}
