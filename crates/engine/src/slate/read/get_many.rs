//! Gets of several keys at a time.
//!
//! A batch of inserts asks for keys that are nearly all absent, and close together. So one search in a run is enough for
//! most runs, and a loop over the filters alone waits for the memory of many keys at once.

use bytes::Bytes;

use super::filter::KeyHash;
use super::version::{Part, Run};
use super::{Reader, Snapshot};
use crate::ReadError;

/// A key without a row so far.
struct Wanted<'k> {
    key: &'k Bytes,
    hash: KeyHash,
    /// Where its row belongs.
    found: &'k mut Option<Bytes>,
    is_done: bool,
}

/// The first and the last of some keys.
#[derive(Clone, Copy)]
struct Span<'k> {
    first: &'k [u8],
    last: &'k [u8],
}

impl Reader {
    /// The values of several keys that are visible now, in their order.
    ///
    /// # Errors
    /// See [`Reader::get`].
    pub(in crate::slate) fn get_many(
        &self,
        keys: &[Bytes],
    ) -> impl Future<Output = Result<Vec<Option<Bytes>>, ReadError>> + Send {
        self.get_many_at(self.snapshot(), keys)
    }

    /// The values of several keys in a snapshot, in their order.
    ///
    /// # Errors
    /// See [`Reader::get`].
    pub(in crate::slate) async fn get_many_at(
        &self,
        snapshot: Snapshot,
        keys: &[Bytes],
    ) -> Result<Vec<Option<Bytes>>, ReadError> {
        let Snapshot { version, seq } = snapshot;
        let mut found = vec![None; keys.len()];
        let (Some(first), Some(last)) = (keys.iter().min(), keys.iter().max()) else {
            return Ok(found);
        };
        let span = Span { first, last };
        let wanted = keys.iter().zip(&mut found).map(|(key, found)| Wanted {
            key,
            hash: KeyHash::of(key),
            found,
            is_done: false,
        });
        let mut wanted: Vec<Wanted<'_>> = wanted.collect();
        for memtable in &version.memtables {
            wanted.retain_mut(|it| match memtable.get(it.key, it.hash, seq) {
                Some(row) => {
                    *it.found = row;
                    false
                }
                None => true,
            });
        }
        let mut parts = Vec::new();
        for run in version.runs.iter() {
            parts_to_read(run, &wanted, span, &mut parts);
            let mut is_one_done = false;
            for (number, part) in parts.drain(..) {
                if let Some(it) = wanted.get_mut(number)
                    && let Some(row) = self.get_in_part(part, it.key, it.hash).await?
                {
                    *it.found = row;
                    it.is_done = true;
                    is_one_done = true;
                }
            }
            if is_one_done {
                wanted.retain(|it| !it.is_done);
            }
        }
        Ok(found)
    }
}

/// The numbers of the wanted keys that a run may contain, as far as that can be told without waiting, each with the part
/// that may contain it. All wanted keys are in `span`.
fn parts_to_read<'r>(
    run: &'r Run,
    wanted: &[Wanted<'_>],
    span: Span<'_>,
    parts: &mut Vec<(usize, &'r Part)>,
) {
    let place = run.place_of(span.first);
    let common = (place == run.place_of(span.last)).then_some(place);
    for (number, it) in wanted.iter().enumerate() {
        let place = common.unwrap_or_else(|| run.place_of(it.key));
        if let Some(part) = run.part_in(place)
            && part.may_contain_quickly(it.hash)
        {
            parts.push((number, part));
        }
    }
}
