//! Transactions against a model, and pages against a sorted list.

use super::*;
use partita_model::ETag;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A random change: the entity, the kind of change, the condition.
#[derive(Debug, Clone)]
enum Draw {
    Insert(i32),
    Replace(i32, Pick),
    Merge(i32, Pick),
    Delete(Pick),
}

#[derive(Debug, Clone, Copy)]
enum Pick {
    None,
    Exists,
    Current,
    Stale,
}

fn draw() -> impl Strategy<Value = (usize, Draw)> {
    let pick =
        || prop::sample::select([Pick::None, Pick::Exists, Pick::Current, Pick::Stale].as_slice());
    let draw = prop_oneof![
        any::<i32>().prop_map(Draw::Insert),
        (any::<i32>(), pick()).prop_map(|(value, pick)| Draw::Replace(value, pick)),
        (any::<i32>(), pick()).prop_map(|(value, pick)| Draw::Merge(value, pick)),
        pick().prop_map(Draw::Delete),
    ];
    (0..6_usize, draw)
}

/// The model of the entities: value and version of each.
type Model = BTreeMap<String, (i32, ETag)>;

/// The outcome of the change in the model, and the resulting value.
fn expected(model: &Model, row: &str, draw: &Draw) -> Result<Option<i32>, &'static str> {
    let current = model.get(row);
    let holds = |pick: &Pick| match (pick, current) {
        (Pick::None, _) | (Pick::Exists | Pick::Current, Some(_)) => Ok(()),
        (Pick::Stale, Some(_)) => Err("condition"),
        (_, None) => Err("missing"),
    };
    match draw {
        Draw::Insert(_) if current.is_some() => Err("exists"),
        Draw::Insert(value) => Ok(Some(*value)),
        Draw::Replace(value, pick) | Draw::Merge(value, pick) => holds(pick).map(|()| Some(*value)),
        Draw::Delete(Pick::None) if current.is_none() => Err("missing"),
        Draw::Delete(pick) => holds(pick).map(|()| None),
    }
}

fn to_change(model: &Model, row: &str, draw: &Draw) -> Change {
    let old = ETag(partita_model::DateTime::UNIX_EPOCH);
    let condition = |pick: &Pick| match pick {
        Pick::None => Condition::None,
        Pick::Exists => Condition::Exists,
        Pick::Current => Condition::Version(model.get(row).map_or(old, |(_, etag)| *etag)),
        Pick::Stale => Condition::Version(old),
    };
    let keys = ("p", row);
    match draw {
        Draw::Insert(value) => insert(keys, *value),
        Draw::Replace(value, pick) => change(
            keys,
            ChangeKind::Replace(properties(*value)),
            condition(pick),
        ),
        Draw::Merge(value, pick) => {
            change(keys, ChangeKind::Merge(properties(*value)), condition(pick))
        }
        Draw::Delete(pick) => change(keys, ChangeKind::Delete, condition(pick)),
    }
}

fn name_of(error: &Error) -> &'static str {
    match error {
        Error::EntityAlreadyExists => "exists",
        Error::EntityNotFound => "missing",
        Error::ConditionNotMet => "condition",
        Error::DuplicateEntity => "duplicate",
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Transactions of random changes have the same effect on the service and on a map.
    #[test]
    fn transactions_follow_the_model(batches in prop::collection::vec(prop::collection::vec(draw(), 1..5), 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let service = service();
            let table = table(&service).await;
            let mut model = Model::new();
            for batch in batches {
                let named: Vec<_> = batch.iter().map(|(row, draw)| (row.to_string(), draw)).collect();
                let changes = named.iter().map(|(row, draw)| to_change(&model, row, draw)).collect();
                let duplicate = named.iter().enumerate().find_map(|(at, (row, _))| {
                    named.iter().take(at).any(|(before, _)| before == row).then_some((at, "duplicate"))
                });
                let failure = duplicate.or_else(|| {
                    named.iter().enumerate().find_map(|(at, (row, draw))| {
                        expected(&model, row, draw).err().map(|error| (at, error))
                    })
                });
                match (service.change_entities(&table, changes).await, failure) {
                    (Err(error), Some(failure)) => prop_assert_eq!((error.index, name_of(&error.error)), failure),
                    (Ok(changed), None) => {
                        for ((row, draw), changed) in named.iter().zip(changed) {
                            match (expected(&model, row, draw), changed.etag) {
                                (Ok(Some(value)), Some(etag)) => {
                                    let before = model.insert(row.clone(), (value, etag));
                                    prop_assert!(before.is_none_or(|(_, before)| before.0 < etag.0));
                                }
                                (Ok(None), None) => {
                                    model.remove(row);
                                }
                                other => prop_assert!(false, "{:?}", other),
                            }
                        }
                    }
                    (got, wanted) => prop_assert!(false, "{:?} {:?}", got, wanted),
                }
                for at in 0..6 {
                    let row = at.to_string();
                    let value = value_of(&service, &table, ("p", &row)).await;
                    prop_assert_eq!(value, model.get(&row).map(|(value, _)| *value));
                }
            }
            Ok(())
        })?;
    }

    /// Pages return each row exactly once, in order, for any page size and any ranges.
    #[test]
    fn pages_return_each_row_once(
        keys in prop::collection::btree_set(("[a-c\u{FFFD}\u{10000}]{0,2}", "[a-b]{0,3}"), 0..40),
        splits in prop::collection::btree_set("[a-c\u{FFFD}\u{10000}]{1,2}", 0..3),
        top in 1..9_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let space = TableSpace::new("account", TableId(7));
            let service = service_split_at(splits.iter().map(|split| space.partition(split)).collect());
            let created = partita_model::DateTime::UNIX_EPOCH;
            let table = Table { name: "T".into(), id: TableId(7), created, space, policies: Vec::new(), ttl: None };
            for (partition, row) in &keys {
                service.change_entity(&table, insert((partition, row), 0)).await.unwrap();
            }
            let mut wanted: Vec<_> = keys.into_iter().collect();
            wanted.sort_by(|a, b| {
                partita_model::compare_utf16(&a.0, &b.0).then_with(|| partita_model::compare_utf16(&a.1, &b.1))
            });
            let (rows, _) = read_all(&service, &table, None, top).await;
            prop_assert_eq!(&rows, &wanted);
            let filter = Filter::Compare {
                property: Property::RowKey,
                op: Comparison::GreaterOrEqual,
                literal: Value::String("b".into()),
            };
            let (rows, _) = read_all(&service, &table, Some(&filter), top).await;
            wanted.retain(|(_, row)| row.as_str() >= "b");
            prop_assert_eq!(rows, wanted);
            Ok(())
        })?;
    }
}
