//! Background changes of many rows, here and on other servers: one commit for each range.

use crate::far_rows::{Expected, FarRows, FarWrite};
use crate::walk::{CHUNK_BYTES, CHUNK_ROWS, key_after};
use crate::{Busy, Error, Storage};
use bytes::Bytes;
use partita_engine::Batch;
use std::sync::Arc;

/// How often a removal on another server is tried: each failure means that another request changed one of the rows.
const ATTEMPTS: usize = 20;

/// The range of some keys.
enum Place<'s> {
    Here,
    Far(&'s Arc<dyn FarRows>),
}

impl Storage {
    /// The range of the first of some keys in order, and how many of them it has.
    fn first_part<T>(
        &self,
        items: &[T],
        key: impl Fn(&T) -> &Bytes,
    ) -> Result<Option<(Place<'_>, usize)>, Error> {
        let Some(first) = items.first().map(&key) else {
            return Ok(None);
        };
        Ok(Some(match self.map.route(first) {
            Ok(route) => {
                let bounds = route.range.bounds();
                let count = items.partition_point(|item| bounds.contains(key(item)));
                (Place::Here, count)
            }
            Err(not_here) => {
                let far = self.far_rows(not_here)?;
                let end = far.range_end(first);
                let is_before = |item: &T| end.as_ref().is_none_or(|end| key(item) < end);
                (Place::Far(far), items.partition_point(is_before).max(1))
            }
        }))
    }

    /// Writes the first of some rows, which must be in order: those that are in one range, in one commit. Returns their
    /// number.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`].
    pub async fn put_first(&self, rows: &[(Bytes, Bytes)]) -> Result<usize, Error> {
        let Some((place, count)) = self.first_part(rows, |(key, _)| key)? else {
            return Ok(0);
        };
        let rows = rows.iter().take(count);
        match place {
            Place::Here => {
                let keys: Vec<Bytes> = rows.clone().map(|(key, _)| key.clone()).collect();
                let locked = self.lock(&keys).await?;
                let mut batch = Batch::with_capacity(count);
                for (key, row) in rows {
                    batch.put(key.clone(), row.clone());
                }
                locked.commit(batch).await?;
            }
            Place::Far(far) => {
                let put = |(key, row): &(Bytes, Bytes)| FarWrite {
                    key: key.clone(),
                    expected: Expected::Any,
                    row: Some(row.clone()),
                };
                far.write(rows.map(put).collect()).await?;
            }
        }
        Ok(count)
    }
}

/// Removes the rows at `keys`, which must be in order, if `still` returns `true` for the current row. Makes one commit
/// for each range, and returns the number of removed rows. Does not wait for a range in transit, because the caller may
/// hold another lock.
///
/// # Errors
/// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`], and those of `still`; rows of earlier ranges may be
/// removed.
pub async fn remove_keys<E: From<Error>>(
    storage: &Storage,
    keys: &[Bytes],
    still: impl Fn(&[u8]) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut rest, mut removed) = (keys, 0);
    while let Some((place, count)) = storage.first_part(rest, |key| key)? {
        let (part, behind) = rest.split_at(count);
        removed += match place {
            Place::Here => remove_here(storage, part, &still).await?,
            Place::Far(far) => remove_far(&**far, part, &still).await?,
        };
        rest = behind;
    }
    Ok(removed)
}

/// Removes the rows at `keys`, which must be in order, like [`remove_keys`], but whatever the rows are.
pub(crate) async fn delete_keys(storage: &Storage, keys: &[Bytes]) -> Result<(), Error> {
    let mut rest = keys;
    while let Some((place, count)) = storage.first_part(rest, |key| key)? {
        let (part, behind) = rest.split_at(count);
        match place {
            Place::Here => {
                remove_here(storage, part, &|_: &[u8]| Ok::<_, Error>(true)).await?;
            }
            Place::Far(far) => {
                let delete = |key: &Bytes| FarWrite {
                    key: key.clone(),
                    expected: Expected::Any,
                    row: None,
                };
                far.write(part.iter().map(delete).collect()).await?;
            }
        }
        rest = behind;
    }
    Ok(())
}

async fn remove_here<E: From<Error>>(
    storage: &Storage,
    keys: &[Bytes],
    still: &impl Fn(&[u8]) -> Result<bool, E>,
) -> Result<usize, E> {
    // The lock fails if the range was split after the look-up; then the caller retries.
    let locked = storage.lock_at_once(keys).await?;
    let current = locked.read_many(keys).await.map_err(Error::from)?;
    let mut batch = Batch::with_capacity(keys.len());
    for (key, row) in keys.iter().zip(current) {
        if let Some(row) = row
            && still(&row)?
        {
            batch.delete(key.clone());
        }
    }
    let removed = batch.len();
    locked.commit(batch).await.map_err(Error::from)?;
    Ok(removed)
}

/// Reads the rows, decides here, and removes those that have not changed since.
async fn remove_far<E: From<Error>>(
    far: &dyn FarRows,
    keys: &[Bytes],
    still: &impl Fn(&[u8]) -> Result<bool, E>,
) -> Result<usize, E> {
    for _ in 0..ATTEMPTS {
        let mut removals = Vec::with_capacity(keys.len());
        for (key, row) in read_far(far, keys).await? {
            if still(&row)? {
                removals.push(FarWrite {
                    key,
                    expected: Expected::Row(row),
                    row: None,
                });
            }
        }
        let removed = removals.len();
        if removed == 0 || far.write(removals).await? {
            return Ok(removed);
        }
    }
    let busy = Busy::overloaded("the rows of another server change too often");
    Err(Error::from(busy).into())
}

/// The rows at `keys`, which are in order. Keys of a removal are close to each other, so it reads all rows between them.
async fn read_far(far: &dyn FarRows, keys: &[Bytes]) -> Result<Vec<(Bytes, Bytes)>, Error> {
    let mut found = Vec::with_capacity(keys.len());
    let mut at = keys.first().cloned();
    let end = keys.last().map(|key| key_after(key)).unwrap_or_default();
    while let Some(start) = at.filter(|at| *at < end) {
        let page = far
            .scan(start..end.clone(), CHUNK_ROWS, CHUNK_BYTES)
            .await?;
        let rows = page.rows.into_iter();
        found.extend(rows.filter(|(key, _)| keys.binary_search(key).is_ok()));
        at = page.next;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FarFault, TestRange, TestServers};
    use crate::{BusyReason, RowWalk};
    use partita_rt::{Clock, TokioClock};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    /// 1,000 rows with the value `old`, on three servers. The first has the first and the last range.
    struct Rig {
        servers: Arc<TestServers>,
        storages: [Arc<Storage>; 3],
    }

    fn key(number: usize) -> Bytes {
        format!("{number:04}").into()
    }

    impl Rig {
        async fn new() -> Self {
            let cuts = [b"02".as_slice(), b"04", b"06"].map(Bytes::from_static);
            let (servers, ranges) = (TestServers::new(), TestRange::cut_at(&cuts));
            let clock: Arc<dyn Clock> = Arc::new(TokioClock::with_rate(1.0));
            let start = |ranges: &[&TestRange]| servers.start(ranges, Arc::clone(&clock));
            let storages = [
                start(&[&ranges[0], &ranges[3]]),
                start(&[&ranges[1]]),
                start(&[&ranges[2]]),
            ];
            let rig = Self { servers, storages };
            let rows: Vec<_> = (0..1000).map(|at| (key(at), "old".into())).collect();
            let (mut rest, mut parts) = (rows.as_slice(), Vec::new());
            while !rest.is_empty() {
                let count = rig.storages[0].put_first(rest).await.unwrap();
                parts.push(count);
                rest = &rest[count..];
            }
            assert_eq!(parts, [200, 200, 200, 400]);
            rig
        }

        /// The keys that a walk of this server finds.
        async fn walk(&self, storage: &Storage) -> Vec<Bytes> {
            let mut walk = RowWalk::new(storage, key(0), key(999));
            let mut found = Vec::new();
            while let Some(rows) = walk.next().await.unwrap() {
                assert!(rows.len() <= CHUNK_ROWS);
                found.extend(rows.into_iter().map(|(key, _)| key));
            }
            found
        }
    }

    fn is_old(row: &[u8]) -> Result<bool, Error> {
        Ok(row == b"old")
    }

    #[tokio::test(start_paused = true)]
    async fn a_walk_reads_the_rows_of_all_servers_in_order() {
        let rig = Rig::new().await;
        let all: Vec<Bytes> = (0..999).map(key).collect();
        for storage in &rig.storages {
            assert_eq!(rig.walk(storage).await, all);
        }
        let mut walk = RowWalk::new(&rig.storages[0], key(150), key(250));
        assert_eq!(walk.next().await.unwrap().unwrap().len(), 50);
        rig.servers.set_fault(Some(FarFault::Unreachable));
        let failed = walk.next().await.unwrap_err();
        assert!(matches!(failed, Error::Busy(busy) if busy.reason == BusyReason::RangeInTransit));
        rig.servers.set_fault(None);
        assert_eq!(
            walk.next().await.unwrap().unwrap().len(),
            50,
            "it continues"
        );
        assert!(walk.next().await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn rows_are_removed_on_all_servers_if_they_pass() {
        let rig = Rig::new().await;
        rig.storages[0]
            .put_first(&[(key(300), "new".into())])
            .await
            .unwrap();
        let keys: Vec<Bytes> = (0..2000).step_by(3).map(key).collect();
        let removed = remove_keys(&rig.storages[1], &keys, is_old).await.unwrap();
        assert_eq!(removed, 333);
        let left = rig.walk(&rig.storages[2]).await;
        let stays = |at: &usize| !at.is_multiple_of(3) || *at == 300;
        assert_eq!(left, (0..999).filter(stays).map(key).collect::<Vec<_>>());
        delete_keys(&rig.storages[2], &keys).await.unwrap();
        assert_eq!(rig.walk(&rig.storages[2]).await.len(), 666);
    }

    #[tokio::test(start_paused = true)]
    async fn a_row_that_changes_between_read_and_removal_is_tested_again() {
        let rig = Rig::new().await;
        // The row is read after 1 s, the removal arrives after 3 s.
        rig.servers.set_delays(|| [SECOND; 2]);
        let keys = [key(300), key(301)];
        let removing = remove_keys(&rig.storages[0], &keys, is_old);
        let changing = async {
            tokio::time::sleep(2 * SECOND).await;
            rig.storages[1]
                .put_first(&[(key(301), "new".into())])
                .await
                .unwrap();
        };
        let (removed, ()) = tokio::join!(removing, changing);
        assert_eq!(removed.unwrap(), 1);
        let get = async |at| rig.storages[1].get(&key(at)).await.unwrap();
        assert_eq!((get(300).await, get(301).await), (None, Some("new".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_answer_of_a_removal_is_an_unknown_outcome() {
        let rig = Rig::new().await;
        rig.servers.set_fault(Some(FarFault::AnswerLost));
        let lost = delete_keys(&rig.storages[0], &[key(300)]).await;
        assert!(matches!(lost, Err(Error::OutcomeUnknown)), "{lost:?}");
        assert_eq!(rig.storages[1].get(&key(300)).await.unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_for_another_server_is_done_as_a_whole_or_not_at_all() {
        let rig = Rig::new().await;
        let write = |at, expected| FarWrite {
            key: key(at),
            expected,
            row: Some("new".into()),
        };
        let mut absent = write(300, Expected::Absent);
        absent.key = "0300a".into();
        let (old, mut is_new) = (|| Expected::Row("old".into()), false);
        for (changes, is_done) in [
            (vec![write(300, old()), write(301, Expected::Absent)], false),
            (
                vec![write(300, old()), write(301, Expected::Row("new".into()))],
                false,
            ),
            (
                vec![write(300, old()), absent.clone(), write(301, Expected::Any)],
                true,
            ),
            (vec![absent], false),
            (Vec::new(), true),
        ] {
            let done = rig.storages[1].serve_write(changes).await.unwrap();
            assert_eq!(done, is_done);
            is_new |= is_done;
            let row = rig.storages[0].get(&key(300)).await.unwrap();
            assert_eq!(row.unwrap() == "new", is_new);
        }
        assert_eq!(rig.walk(&rig.storages[0]).await.len(), 1000);
        // Keys of two ranges, and a key of another server.
        for changes in [[199, 600], [199, 200], [200, 201]] {
            let changes = changes.map(|at| write(at, Expected::Any));
            let refused = rig.storages[0].serve_write(changes.into()).await;
            assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
        }
    }
}
