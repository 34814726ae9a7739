use super::*;
use partita_wire::admin::{Missing, NamedKey};

const HOSTILE: &str = "</script><script>alert(1)</script>\"'<b>\u{202E}";

fn key(table: &str, key: &str) -> Option<NamedKey> {
    Some(NamedKey {
        key: format!("{table}/{key}"),
        table: Some(table.to_owned()),
        partition_key: Some(key.to_owned()),
        ..NamedKey::default()
    })
}

fn heat(metric: &str, rows: Vec<HeatRow>) -> Heat {
    Heat {
        metric: metric.to_owned(),
        from: Some("2026-02-02T11:58:00Z".to_owned()),
        to: Some("2026-02-02T12:02:00Z".to_owned()),
        step_seconds: 60,
        columns: 4,
        missing: Missing::default(),
        rows,
    }
}

/// Neighbouring key buckets of two tables are apart.
#[test]
fn a_table_begins_with_a_gap() {
    let of = |table: &str| {
        let mut start = key(table, "a").unwrap();
        start.table_id = Some(table.to_owned());
        range(Some(start), &[Some(1.0); 4])
    };
    let mut page = page();
    page.keys = vec![heat("requests", vec![of("cats"), of("cats"), of("dogs")])];
    let page = html(&page);
    assert_eq!(page.matches("class=\"row first\"").count(), 1);
    let dogs = page.find("class=\"row first\"").unwrap();
    assert!(
        page[dogs..].starts_with("class=\"row first\"><span class=\"name\" title=\"dogs "),
        "{page}"
    );
}

fn range(start: Option<NamedKey>, values: &[Option<f64>]) -> HeatRow {
    HeatRow::Range {
        start,
        end: key("people", "z"),
        values: values.to_vec(),
    }
}

fn partition(name: &str, values: &[Option<f64>]) -> HeatRow {
    HeatRow::Partition {
        partition: key("people", name),
        values: values.to_vec(),
    }
}

fn page() -> HeatPage {
    let busy = [Some(60.0), Some(60.0), Some(0.0), Some(72_240.0)];
    let values = |value| [Some(value), None, None, Some(value)];
    HeatPage {
        server: "http://127.0.0.1:10010".to_owned(),
        made_at: "2026-02-02T12:02:03.5Z".to_owned(),
        keys: vec![
            heat(
                "requests",
                vec![
                    range(None, &[Some(0.0); 4]),
                    range(key("people", "a very long partition key"), &busy),
                ],
            ),
            heat(
                "p99_us",
                vec![range(
                    key("people", "a very long partition key"),
                    &values(1_300.0),
                )],
            ),
        ],
        partitions: vec![
            heat(
                "requests",
                vec![partition("m", &busy), partition("n", &values(6.0))],
            ),
            // The rows of another metric are in another order.
            heat(
                "p99_us",
                vec![
                    partition("n", &values(900.0)),
                    partition("m", &values(700.0)),
                ],
            ),
        ],
    }
}

#[test]
fn a_page_has_names_cells_times_and_figures() {
    let page = html(&page());
    for expected in [
        "Heat map, 2026-02-02 12:02 UTC",
        "Requests from 11:58 to 12:02 on 2026-02-02 UTC; a column is 1m",
        "<span>people &#39;a very long part</span><span>ition key&#39;</span>",
        "<rect class=\"l0\" x=\"0\" width=\"2\" height=\"1\"/><rect class=\"idle\" x=\"2\" width=\"1\" height=\"1\"/><rect class=\"l9\" x=\"3\"",
        "<span class=\"most\">1,204/s</span>",
        "1 row without requests not shown",
        "<dd>1.30 ms</dd>",
        ">12:01</span>",
    ] {
        assert!(page.contains(expected), "{expected} is not in {page}");
    }
}

#[test]
fn the_script_gets_the_values_of_all_metrics_by_key() {
    let page = page();
    let values = values(&page);
    assert_eq!(values.metrics, ["requests", "p99_us"]);
    let of = |map: usize, row: usize, metric: usize| values.maps[map][row].values[metric].to_vec();
    assert_eq!(values.maps[0][1].name, "people 'a very long partition key'");
    assert_eq!(values.maps[0][1].before.as_deref(), Some("people 'z'"));
    assert_eq!(of(0, 0, 1), [], "the row has no latencies");
    assert_eq!(of(0, 1, 1)[3], Some(1_300.0));
    assert_eq!(of(1, 0, 1)[0], Some(700.0));
    assert_eq!(of(1, 1, 1)[0], Some(900.0));
}

#[test]
fn names_are_escaped_and_no_other_file_is_loaded() {
    let mut hostile = page();
    hostile.server = HOSTILE.to_owned();
    for heat in hostile.keys.iter_mut().chain(&mut hostile.partitions) {
        for row in &mut heat.rows {
            let (HeatRow::Range { start: key, .. } | HeatRow::Partition { partition: key, .. }) =
                row;
            *key = self::key(HOSTILE, HOSTILE);
        }
    }
    let hostile = html(&hostile);
    let plain = html(&page());
    let scripts = |page: &str| page.matches("<script").count();
    assert_eq!((scripts(&hostile), scripts(&plain)), (2, 2));
    assert!(!hostile.contains("<b>\u{FFFD}") && !hostile.contains("alert(1)</script>"));
    for forbidden in ["src=", "href=\"http", "url(", "@import", "innerHTML"] {
        assert!(!plain.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn an_idle_map_says_so() {
    let mut page = page();
    page.partitions = vec![heat("requests", Vec::new())];
    assert!(html(&page).contains("No requests in this time."));
}
