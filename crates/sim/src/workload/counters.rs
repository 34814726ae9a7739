//! Counters that all sessions increment: a session reads a counter, and replaces it if its ETag is still the same.
//!
//! In any interleaving, the value of a counter is the number of its acknowledged replacements.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context as _, ensure};

use super::connection::Connection;
use super::protocol::{TableRequest, row};
use super::table_name;
use crate::model::{Key, Row, RowChange, Values, Write};

/// The number of counters.
const COUNT: usize = 3;

const PARTITION: &str = "counters";

/// The number of acknowledged replacements of each counter, by all sessions.
#[derive(Clone, Debug)]
pub(super) struct Counters(Rc<RefCell<[i64; COUNT]>>);

/// Whether a row is a counter.
pub(super) fn is_counter(key: &Key) -> bool {
    key.partition == PARTITION
}

impl Counters {
    /// Creates the counters.
    pub(super) async fn create(owner: &mut Connection) -> anyhow::Result<Self> {
        for counter in 0..COUNT {
            let insert = write(counter, RowChange::Insert, 0, None);
            let answer = owner.send(&TableRequest::write(&insert)).await?;
            answer.expect(201).context("creating a counter")?;
        }
        Ok(Self(Rc::default()))
    }

    /// Increments a counter, unless another session replaces it between the read and the write.
    pub(super) async fn increment(
        &self,
        connection: &mut Connection,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<()> {
        let counter = random.usize(..COUNT);
        let (number, etag) = read(connection, counter).await?;
        let replace = write(counter, RowChange::Replace, number + 1, Some(etag));
        let answer = connection.send(&TableRequest::write(&replace)).await?;
        match answer.status {
            204 => self.0.borrow_mut()[counter] += 1,
            412 => connection.work.refused += 1,
            _ => anyhow::bail!("incrementing a counter: {}", answer.text()),
        }
        Ok(())
    }

    /// Compares the counters with the acknowledged replacements.
    pub(super) async fn check(&self, owner: &mut Connection) -> anyhow::Result<()> {
        for counter in 0..COUNT {
            let (number, _) = read(owner, counter).await?;
            let expected = self.0.borrow()[counter];
            ensure!(
                number == expected,
                "counter {counter} is {number}, not {expected}"
            );
        }
        Ok(())
    }
}

async fn read(connection: &mut Connection, counter: usize) -> anyhow::Result<(i64, String)> {
    let answer = connection.send(&TableRequest::get(&key(counter))).await?;
    answer.expect(200).context("reading a counter")?;
    let (_, Row { etag, values }) = row(&table_name(0), &answer)?;
    Ok((values.number.context("a counter without a number")?, etag))
}

fn key(counter: usize) -> Key {
    Key {
        table: table_name(0),
        partition: PARTITION.to_owned(),
        row: counter.to_string(),
    }
}

fn write(counter: usize, change: RowChange, number: i64, if_match: Option<String>) -> Write {
    let values = Values {
        number: Some(number),
        text: None,
    };
    Write {
        key: key(counter),
        change,
        values,
        if_match,
    }
}
