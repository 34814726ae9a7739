//! Counters that all sessions raise, each by reading one and replacing it if it is still the same.
//!
//! However they interleave, the number in a counter is that of the replacements that were acknowledged.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context as _, ensure};

use super::protocol::{Ask, row};
use super::session::Connection;
use super::table_name;
use crate::model::{Change, Key, Row, Values, Write};

/// How many there are.
const COUNT: usize = 3;

const PARTITION: &str = "counters";

/// What was acknowledged to all sessions together, by counter.
#[derive(Clone, Debug)]
pub(super) struct Counters(Rc<RefCell<[i64; COUNT]>>);

/// Whether a row is a counter.
pub(super) fn is_counter(key: &Key) -> bool {
    key.partition == PARTITION
}

impl Counters {
    /// Makes them all, at zero.
    pub(super) async fn create(owner: &mut Connection) -> anyhow::Result<Self> {
        for counter in 0..COUNT {
            let insert = write(counter, Change::Insert, 0, None);
            let answer = owner.send(&Ask::write(&insert)).await?;
            ensure!(
                answer.status == 201,
                "creating a counter: {}",
                answer.text()
            );
        }
        Ok(Self(Rc::default()))
    }

    /// Raises one by one. Another session may be quicker; then nothing happens.
    pub(super) async fn raise(
        &self,
        connection: &mut Connection,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<()> {
        let counter = random.usize(..COUNT);
        let (number, etag) = read(connection, counter).await?;
        let replace = write(counter, Change::Replace, number + 1, Some(etag));
        let answer = connection.send(&Ask::write(&replace)).await?;
        match answer.status {
            204 => self.0.borrow_mut()[counter] += 1,
            412 => connection.refused(),
            _ => anyhow::bail!("raising a counter: {}", answer.text()),
        }
        Ok(())
    }

    /// Compares them with what was acknowledged.
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
    let answer = connection.send(&Ask::get(&key(counter))).await?;
    ensure!(answer.status == 200, "reading a counter: {}", answer.text());
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

fn write(counter: usize, change: Change, number: i64, if_match: Option<String>) -> Write {
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
