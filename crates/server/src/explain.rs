//! What a filter would read, told without a server: `partita explain`.
//!
//! The same planner as the server's, and the same JSON as its `x-partita-explain` header, less what only a run can tell.

use partita_model::{EntityBound, EntityRange};
use partita_table::{Plan, QueryClass};
use partita_wire::table::parse_filter;
use serde_json::Value;

use crate::front;

/// A filter and its plan.
#[derive(Debug)]
pub struct Explained(Plan);

/// The filter is not one.
#[derive(Debug, thiserror::Error)]
#[error("not a filter: {0}")]
pub struct InvalidFilter(String);

/// Pieces of the table that are told one by one.
const SPANS_SHOWN: usize = 20;

impl Explained {
    /// Plans the text of a `$filter`.
    ///
    /// # Errors
    /// What the service would answer to it.
    pub fn new(filter: &str) -> Result<Explained, InvalidFilter> {
        let filter =
            parse_filter(filter).map_err(|failure| InvalidFilter(failure.text().to_owned()))?;
        Ok(Explained(Plan::new(Some(&filter))))
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        front::table::explain_plan(&self.0)
    }

    /// For people: class, what is read, what is tested.
    pub fn as_text(&self) -> String {
        let plan = &self.0;
        let class = plan.class();
        let mut text = format!("class  {class}: {}\n", meaning(class));
        if plan.spans.is_empty() {
            text.push_str("reads  nothing: no row can pass\n");
        }
        for (index, span) in plan.spans.iter().take(SPANS_SHOWN).enumerate() {
            let label = if index == 0 { "reads" } else { "" };
            text.push_str(&format!("{label:5}  {}\n", span_text(span)));
        }
        if plan.spans.len() > SPANS_SHOWN {
            text.push_str(&format!(
                "       and {} pieces more\n",
                plan.spans.len() - SPANS_SHOWN
            ));
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
        QueryClass::Point => "single entities by their whole keys, the cheapest there is",
        QueryClass::RowRangeScan => "a piece of single partitions, costs what it reads",
        QueryClass::PartitionRangeScan => "a range of partitions, costs what it reads",
        QueryClass::FullTableScan => "reads the whole table, however little passes",
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
    match bound {
        EntityBound::TableStart => "the start of the table".to_owned(),
        EntityBound::TableEnd => "the end of the table".to_owned(),
        EntityBound::BeforePartition(partition) => {
            format!("before partition {}", quoted(partition))
        }
        EntityBound::AfterPartition(partition) => format!("after partition {}", quoted(partition)),
        EntityBound::Before(partition, row) => format!(
            "before row {} of partition {}",
            quoted(row),
            quoted(partition)
        ),
        EntityBound::After(partition, row) => format!(
            "after row {} of partition {}",
            quoted(row),
            quoted(partition)
        ),
    }
}

/// As a filter would have it, with what a terminal would act on escaped.
fn quoted(key: &str) -> String {
    let mut text = String::from("'");
    for letter in key.chars() {
        match letter {
            '\'' => text.push_str("''"),
            letter if letter.is_control() => text.extend(letter.escape_unicode()),
            letter => text.push(letter),
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(filter: &str) -> String {
        Explained::new(filter).unwrap().as_text()
    }

    #[test]
    fn each_class_reads_as_prose() {
        assert_eq!(
            text("PartitionKey eq 'it''s' and RowKey eq 'b'"),
            "class  point: single entities by their whole keys, the cheapest there is\n\
             reads  row 'b' of partition 'it''s'\n\
             tests  nothing: every row read is returned\n"
        );
        assert_eq!(
            text("PartitionKey eq 'a' and RowKey ge 'b' and n gt 5"),
            "class  row range scan: a piece of single partitions, costs what it reads\n\
             reads  from before row 'b' of partition 'a' to after partition 'a'\n\
             tests  n gt 5, on each row read\n"
        );
        assert_eq!(
            text("PartitionKey gt 'a'"),
            "class  partition range scan: a range of partitions, costs what it reads\n\
             reads  from after partition 'a' to the end of the table\n\
             tests  nothing: every row read is returned\n"
        );
        assert_eq!(
            text("n eq 1"),
            "class  full table scan: reads the whole table, however little passes\n\
             reads  every row\n\
             tests  n eq 1, on each row read\n"
        );
    }

    #[test]
    fn several_pieces_stand_below_each_other() {
        let keys: Vec<String> = (10..40).map(|n| format!("PartitionKey eq '{n}'")).collect();
        let text = text(&keys.join(" or "));
        assert!(
            text.contains("reads  partition '10'\n       partition '11'\n"),
            "{text}"
        );
        assert!(text.contains("       and 10 pieces more\n"), "{text}");
    }

    #[test]
    fn nonsense_is_refused_and_terminals_are_safe() {
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
