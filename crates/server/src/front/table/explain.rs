//! Explained queries: a request with the header `x-partita-explain: true` is answered with a header of the same name
//! and compact JSON, and `partita explain` prints the same for a filter offline.

use super::call::Call;
use super::headers::X_PARTITA_EXPLAIN;
use partita_model::{EntityBound, EntityRange};
use partita_table::{Page, Plan, Service, Table};
use serde_json::{Value, json};

/// The maximum number of spans to list: a header has no room for more.
const SPANS_MAX: usize = 8;
/// The maximum length of a residual, in characters.
const RESIDUAL_CHARS_MAX: usize = 1024;

/// Whether the request has the header.
pub(super) fn is_requested(call: &Call<'_>) -> bool {
    call.head
        .header(&X_PARTITA_EXPLAIN)
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// The plan and the cost of a page, in one line of ASCII JSON.
pub(super) fn page(service: &Service, table: &Table, page: &Page) -> String {
    let report = &page.report;
    let mut explained = plan(&report.plan);
    let more = json!({
        // The class of the whole query; a resumed page may read less.
        "class": report.class.name(),
        "ranges": service.ranges_touched(table, &report.plan),
        "rows_read": report.rows_read,
        "bytes_read": report.bytes_read,
        "rows_returned": page.rows.len(),
        "pages": 1,
        "more": page.next.is_some(),
        "time_us": u64::try_from(report.time.as_micros()).unwrap_or(u64::MAX),
    });
    if let (Value::Object(explained), Value::Object(more)) = (&mut explained, more) {
        explained.extend(more);
    }
    ascii(&explained.to_string())
}

/// The plan of a filter: class, spans, and the residual that is tested on each row.
pub fn plan(plan: &Plan) -> Value {
    let spans: Vec<Value> = plan.spans.iter().take(SPANS_MAX).map(span).collect();
    let residual = plan.residual.as_ref().map(|residual| {
        let text = residual.to_string();
        match text.char_indices().nth(RESIDUAL_CHARS_MAX) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text,
        }
    });
    json!({
        "class": plan.class().name(),
        "spans": spans,
        "span_count": plan.spans.len(),
        "tested_per_row": residual,
    })
}

fn span(span: &EntityRange) -> Value {
    match span.point() {
        Some((partition_key, row_key)) => {
            json!({ "PartitionKey": partition_key, "RowKey": row_key })
        }
        None => json!({ "from": bound(&span.start), "to": bound(&span.end) }),
    }
}

fn bound(bound: &EntityBound) -> Value {
    let location = |at: &str, partition_key: &str, row_key: Option<&str>| {
        let mut location = json!({ "at": at, "PartitionKey": partition_key });
        if let (Some(row_key), Value::Object(fields)) = (row_key, &mut location) {
            fields.insert("RowKey".to_owned(), row_key.into());
        }
        location
    };
    match bound {
        EntityBound::TableStart => json!({ "at": "table start" }),
        EntityBound::TableEnd => json!({ "at": "table end" }),
        EntityBound::BeforePartition(partition) => location("before", partition, None),
        EntityBound::AfterPartition(partition) => location("after", partition, None),
        EntityBound::Before(partition, row) => location("before", partition, Some(row)),
        EntityBound::After(partition, row) => location("after", partition, Some(row)),
    }
}

/// JSON in which all characters except printable ASCII are escaped: headers allow no others.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            text.push_str(&format!("\\u{unit:04x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::table::parse_filter;

    #[test]
    fn a_plan_has_class_spans_and_residual() {
        let filter = parse_filter("PartitionKey eq 'é' and RowKey ge 'a' and n gt 5").unwrap();
        let explained = plan(&Plan::new(Some(&filter)));
        assert_eq!(
            explained,
            json!({
                "class": "row range scan",
                "spans": [{
                    "from": {"at": "before", "PartitionKey": "é", "RowKey": "a"},
                    "to": {"at": "after", "PartitionKey": "é"},
                }],
                "span_count": 1,
                "tested_per_row": "n gt 5",
            })
        );
        assert!(ascii(&explained.to_string()).contains("\\u00e9"));
    }
}
