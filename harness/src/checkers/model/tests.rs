use super::*;

fn key(row: &str) -> Key {
    Key {
        partition: "w0".to_owned(),
        row: row.to_owned(),
    }
}

fn row(etag: &str, a: WriteId) -> Row {
    Row {
        etag: Some(etag.to_owned()),
        a: Some(a),
        b: None,
    }
}

/// Two rows acknowledged, and a batch under way that replaces both.
fn ledger() -> Ledger {
    let mut ledger = Ledger {
        keys: vec![key("a"), key("b"), key("c")],
        ..Ledger::default()
    };
    for (name, id) in [("a", 1), ("b", 2)] {
        let row = Row {
            etag: None,
            a: Some(id),
            b: None,
        };
        ledger.doubt = Some(vec![(key(name), Some(row))]);
        ledger.acknowledge(vec![Some(format!("e{id}"))]).unwrap();
    }
    let after = |id| {
        Some(Row {
            etag: None,
            a: Some(id),
            b: None,
        })
    };
    ledger.doubt = Some(vec![(key("a"), after(3)), (key("b"), after(4))]);
    ledger
}

#[test]
fn a_request_under_way_that_happened_wholly_or_not_at_all_passes() {
    let before: Rows = [(key("a"), row("e1", 1)), (key("b"), row("e2", 2))].into();
    let after: Rows = [(key("a"), row("e3", 3)), (key("b"), row("e4", 4))].into();
    for stored in [before, after] {
        let mut ledger = ledger();
        assert_eq!(ledger.compare(&stored), [] as [String; 0]);
        assert_eq!(ledger.rows, stored);
        assert!(ledger.doubt.is_none());
    }
}

#[test]
fn half_a_batch_is_found() {
    let stored: Rows = [(key("a"), row("e3", 3)), (key("b"), row("e2", 2))].into();
    let faults = ledger().compare(&stored);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("half a batch"));
}

#[test]
fn a_lost_or_changed_or_unknown_row_is_found() {
    let base: Rows = [(key("a"), row("e1", 1)), (key("b"), row("e2", 2))].into();
    let mut lost = base.clone();
    lost.remove(&key("b"));
    let mut other_tag = base.clone();
    other_tag.insert(key("b"), row("e9", 2));
    let mut from_nowhere = base.clone();
    from_nowhere.insert(key("c"), row("e9", 9));
    let mut old_value = base.clone();
    old_value.insert(key("a"), row("e1", 77));
    for stored in [lost, other_tag, from_nowhere, old_value] {
        assert_eq!(ledger().compare(&stored).len(), 1, "{stored:?}");
    }
}

#[test]
fn a_reused_etag_is_found() {
    let mut ledger = ledger();
    assert!(
        ledger
            .acknowledge(vec![Some("e1".to_owned()), Some("e4".to_owned())])
            .is_err()
    );
}

#[test]
fn changes_follow_the_protocol() {
    let present = row("e", 1);
    let some = Some(&present);
    assert_eq!(EntityChange::Insert.apply(some, 2, true), Err(409));
    assert_eq!(EntityChange::Delete.apply(None, 2, true), Err(404));
    assert_eq!(EntityChange::Merge.apply(some, 2, false), Err(412));
    let merged = EntityChange::UpsertMerge
        .apply(some, 2, true)
        .unwrap()
        .unwrap();
    assert_eq!((merged.a, merged.b), (Some(1), Some(2)));
    let replaced = EntityChange::Replace
        .apply(Some(&merged), 3, true)
        .unwrap()
        .unwrap();
    assert_eq!((replaced.a, replaced.b), (Some(3), None));
}

#[test]
fn a_truncated_payload_has_no_write_id() {
    for id in 1..200 {
        let text = payload(id);
        assert_eq!(write_id_of(&text), Some(id));
        assert_eq!(write_id_of(&text[..text.len() - 1]), None);
    }
    assert_eq!(write_id_of("short"), None);
}
