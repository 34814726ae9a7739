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
        let page = far.scan(start..end.clone(), CHUNK_ROWS, CHUNK_BYTES).await?;
        let rows = page.rows.into_iter();
        found.extend(rows.filter(|(key, _)| keys.binary_search(key).is_ok()));
        at = page.next;
    }
    Ok(found)
}
