//! Scripts that run against an engine and an ordered map and compare the results.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use super::{commit, rows, submit};
use crate::{Batch, Engine, KeyRange, ScanHint};

/// One step of a script. Keys are small numbers, so that scripts reuse keys often.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes these keys in one batch: `Some` is the length of the new value, `None` removes the key.
    Write(BTreeMap<u16, Option<u16>>),
    /// Submits these batches without waiting for earlier ones.
    WriteMany(Vec<BTreeMap<u16, Option<u16>>>),
    /// Reads one key.
    Get(u16),
    /// Reads the keys between two bounds, with a page size.
    Scan(u16, u16, u8),
    /// Starts a scan over all keys, writes, and then reads the rows of the scan.
    ScanThenWrite(BTreeMap<u16, Option<u16>>),
    /// Flushes the engine.
    Flush,
}

type Model = BTreeMap<Bytes, Bytes>;

/// Runs `steps` on `engine`, which must hold the same rows as `model`, and compares every result with the map.
///
/// # Panics
/// At the first difference.
pub async fn check_script(engine: &dyn Engine, model: &mut Model, steps: &[Step]) {
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Write(writes) => {
                let batch = batch(index, writes);
                apply(model, &batch);
                commit(engine, batch).await.expect("the batch is written");
            }
            Step::WriteMany(batches) => write_many(engine, model, index, batches).await,
            Step::Get(key) => {
                let key = encode(*key);
                assert_eq!(
                    engine
                        .get(&key)
                        .await
                        .expect("the get is answered")
                        .as_ref(),
                    model.get(&key)
                );
            }
            Step::Scan(start, end, rows_max) => {
                let range = KeyRange::half_open(encode(*start), encode(*end));
                let wanted = if start < end {
                    range_of(model, &range)
                } else {
                    Vec::new()
                };
                assert_eq!(
                    rows(engine, range, usize::from(*rows_max).max(1)).await,
                    wanted
                );
            }
            Step::ScanThenWrite(writes) => {
                let before: Vec<_> = range_of(model, &KeyRange::all());
                let mut scan = engine
                    .scan(KeyRange::all(), ScanHint::walk())
                    .await
                    .expect("the scan starts");
                let batch = batch(index, writes);
                apply(model, &batch);
                commit(engine, batch).await.expect("the batch is written");
                let mut seen = Vec::new();
                loop {
                    let page = scan.next(3, usize::MAX).await.expect("the scan continues");
                    if page.is_empty() {
                        break;
                    }
                    seen.extend(page);
                }
                assert_eq!(seen, before, "a scan shows the instant it started");
            }
            Step::Flush => engine.flush().await.expect("the flush is done"),
        }
    }
    assert_eq!(
        rows(engine, KeyRange::all(), 7).await,
        range_of(model, &KeyRange::all())
    );
}

async fn write_many(
    engine: &dyn Engine,
    model: &mut Model,
    index: usize,
    batches: &[BTreeMap<u16, Option<u16>>],
) {
    let mut waiting = Vec::new();
    for (place, writes) in batches.iter().enumerate() {
        let batch = batch(index * 1_000 + place, writes);
        apply(model, &batch);
        waiting.push(submit(engine, batch).await.expect("there is room"));
    }
    for receiver in waiting {
        receiver
            .await
            .expect("the completion is called")
            .expect("the batch is written");
    }
}

fn batch(salt: usize, writes: &BTreeMap<u16, Option<u16>>) -> Batch {
    let mut batch = Batch::new();
    for (key, length) in writes {
        match length {
            Some(length) => batch.put(encode(*key), value(salt, *key, *length)),
            None => batch.delete(encode(*key)),
        }
    }
    batch
}

fn apply(model: &mut Model, batch: &Batch) {
    for write in batch.writes() {
        match &write.value {
            Some(value) => model.insert(write.key.clone(), value.clone()),
            None => model.remove(&write.key),
        };
    }
}

fn range_of(model: &Model, range: &KeyRange) -> Vec<(Bytes, Bytes)> {
    model
        .range::<Bytes, (Bound<&Bytes>, Bound<&Bytes>)>((range.start.as_ref(), range.end.as_ref()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The key of a number: three bytes, or four for a multiple of 3, so that keys differ in length.
fn encode(key: u16) -> Bytes {
    let mut bytes = vec![b'k'];
    bytes.extend(key.to_be_bytes());
    if key.is_multiple_of(3) {
        bytes.push(0xff);
    }
    Bytes::from(bytes)
}

fn value(salt: usize, key: u16, length: u16) -> Bytes {
    let seed = salt.wrapping_mul(31).wrapping_add(usize::from(key));
    (0..usize::from(length))
        .map(|place| seed.wrapping_add(place).to_le_bytes()[0])
        .collect()
}
