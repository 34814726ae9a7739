//! A session: one client with its own rows.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use partita_wire::ServiceKind;
use tokio::sync::watch;

use super::connection::Connection;
use super::counters::Counters;
use super::protocol::{TableRequest, expect_refusal, row, signature};
use super::query::Query;
use super::{Plant, Progress, Work, batch, table_name};
use crate::model::{Key, Model, Refusal, RowChange, Values, Write};
use crate::scenario::{Scenario, TABLE_PORT};
use crate::trace::Trace;

/// How long a session rests after half of its operations and the kill of the server, so that compactions and garbage collections can run.
const REST: Duration = Duration::from_secs(70);

/// Largest number of writes in a batch.
const BATCH_MAX: usize = 12;

/// Waits until all sessions on tables rest and the server is killed, and somewhat longer.
async fn rest(progress: &watch::Sender<Progress>) -> anyhow::Result<()> {
    progress.send_modify(|progress| progress.resting += 1);
    let mut observed = progress.subscribe();
    observed.wait_for(|progress| progress.kills > 0).await?;
    tokio::time::sleep(REST).await;
    Ok(())
}

/// A connection to the table service.
pub(super) fn connection(name: &str, trace: &Trace) -> anyhow::Result<Connection> {
    let signature = signature(ServiceKind::Table)?;
    Ok(Connection::new(name, TABLE_PORT, signature, trace))
}

/// A client, and the model of its rows.
pub(super) struct Session {
    scenario: Scenario,
    /// The suffix of its partitions.
    suffix: String,
    connection: Connection,
    random: fastrand::Rng,
    model: Model,
    counters: Counters,
    plant: Option<Plant>,
}

impl Session {
    pub(super) fn new(
        scenario: &Scenario,
        number: u64,
        counters: Counters,
        trace: &Trace,
        plant: Option<Plant>,
    ) -> anyhow::Result<Self> {
        let name = format!("session-{number}");
        Ok(Self {
            scenario: scenario.clone(),
            connection: connection(&name, trace)?,
            random: scenario.seed.stream(&name),
            suffix: format!("-{number:02}"),
            model: Model::default(),
            counters,
            plant,
        })
    }

    pub(super) fn work_done(&self) -> &Work {
        &self.connection.work
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Performs this session's share of the operations, with a pause in the middle.
    pub(super) async fn work(mut self, progress: &watch::Sender<Progress>) -> anyhow::Result<Self> {
        let share = self.scenario.operations.div_ceil(self.scenario.sessions);
        for number in 0..share {
            self.operation().await?;
            self.connection.work.operations += 1;
            progress.send_modify(|progress| progress.operations += 1);
            if number == share / 2 {
                self.lose_a_row().await?;
                self.connection.disconnect();
                rest(progress).await?;
            }
        }
        Ok(self)
    }

    async fn operation(&mut self) -> anyhow::Result<()> {
        match self.random.u32(..100) {
            0..50 => {
                let write = self.a_write();
                self.write(&write).await
            }
            50..58 => self.batch().await,
            58..80 => {
                let key = self.a_key();
                self.get(&key).await
            }
            80..94 => self.query().await,
            94..98 => {
                self.counters
                    .increment(&mut self.connection, &mut self.random)
                    .await
            }
            _ => self.create_table_again().await,
        }
    }

    async fn write(&mut self, write: &Write) -> anyhow::Result<()> {
        let answer = self.connection.send(&TableRequest::write(write)).await?;
        let checked = match self.model.expect(write) {
            Ok(left) => answer.expect(write.change.success()).and_then(|()| {
                let etag = answer.header("etag").map(str::to_owned);
                self.acknowledge(write, left, etag)
            }),
            Err(refusal) => {
                self.connection.work.refused += 1;
                expect_refusal(answer.status, &answer.body, refusal)
            }
        };
        checked.with_context(|| format!("{write:?}"))
    }

    fn acknowledge(
        &mut self,
        write: &Write,
        left: Option<Values>,
        etag: Option<String>,
    ) -> anyhow::Result<()> {
        let taken = self.model.acknowledge(&write.key, left, etag);
        taken.map_err(|wrong| anyhow::anyhow!(wrong))
    }

    async fn batch(&mut self) -> anyhow::Result<()> {
        let first = self.a_write();
        let mut writes = vec![first];
        for _ in 0..self.random.usize(..BATCH_MAX) {
            let mut write = self.a_write();
            write.key.table.clone_from(&writes[0].key.table);
            write.key.partition.clone_from(&writes[0].key.partition);
            self.set_condition(&mut write);
            // A batch must not change a row twice.
            if writes.iter().all(|other| other.key != write.key) {
                writes.push(write);
            }
        }
        let answer = self.connection.send(&batch::request(&writes)).await?;
        answer.expect(202).with_context(|| format!("{writes:?}"))?;
        let parts = batch::parts(&answer)?;
        let mut left = Vec::new();
        for (index, write) in writes.iter().enumerate() {
            match self.model.expect(write) {
                Ok(values) => left.push(values),
                Err(refusal) => {
                    self.connection.work.refused += 1;
                    return batch::check_refused(&parts, writes.len(), index, refusal)
                        .with_context(|| format!("{writes:?}"));
                }
            }
        }
        ensure!(parts.len() == writes.len(), "{writes:?}: {parts:?}");
        for ((write, left), part) in writes.iter().zip(left).zip(parts) {
            ensure!(part.status == write.change.success(), "{write:?}: {part:?}");
            self.acknowledge(write, left, part.etag)?;
        }
        Ok(())
    }

    async fn get(&mut self, key: &Key) -> anyhow::Result<()> {
        let answer = self.connection.send(&TableRequest::get(key)).await?;
        let Some(expected) = self.model.get(key) else {
            let refused = expect_refusal(answer.status, &answer.body, Refusal::NOT_FOUND);
            return refused.with_context(|| format!("{key:?}"));
        };
        let wanted = || format!("{key:?}: not {expected:?}");
        answer.expect(200).with_context(wanted)?;
        let (found, row) = row(&key.table, &answer)?;
        ensure!(
            found == *key && row == *expected,
            "{key:?}: {row:?}, not {expected:?}"
        );
        ensure!(
            answer.header("etag") == Some(&expected.etag),
            "{key:?}: another ETag"
        );
        self.connection.work.rows += 1;
        Ok(())
    }

    async fn query(&mut self) -> anyhow::Result<()> {
        let mut query = Query::all(self.a_table());
        match self.random.u32(..20) {
            0 => {}
            1..10 => {
                let partition = self.a_partition();
                // Selects exactly this partition.
                query.to = Some(format!("{partition}!"));
                query.from = Some(partition);
            }
            10..15 => (query.from, query.to) = (Some(self.a_partition()), Some(self.a_partition())),
            _ => query.number_min = Some(self.random.i64(900..1_000)),
        }
        let top = self.random.usize(1..=100);
        query.top = self.random.bool().then_some(top);
        let rows = query.run(&mut self.connection).await?;
        let found = rows
            .iter()
            .filter(|(key, _)| key.partition.ends_with(&self.suffix));
        let expected = self.model.rows().filter(|(key, row)| query.fits(key, row));
        let same = found.map(|(key, row)| (key, row)).eq(expected);
        ensure!(
            same,
            "{query:?} of {} gave {rows:?}, which is not {:?}",
            self.suffix,
            self.model
        );
        Ok(())
    }

    async fn create_table_again(&mut self) -> anyhow::Result<()> {
        let create = TableRequest::create_table(&self.a_table());
        let answer = self.connection.send(&create).await?;
        self.connection.work.refused += 1;
        expect_refusal(answer.status, &answer.body, Refusal::TABLE_EXISTS)
    }

    /// The planted fault: deletes a row, but not in the model.
    async fn lose_a_row(&mut self) -> anyhow::Result<()> {
        let Some(Plant::LostWrite) = self.plant.take() else {
            return Ok(());
        };
        let (key, _) = self.model.rows().next().context("no row to lose")?;
        let delete = Write {
            key: key.clone(),
            change: RowChange::Delete,
            values: Values::default(),
            if_match: Some("*".to_owned()),
        };
        self.connection.send(&TableRequest::write(&delete)).await?;
        Ok(())
    }

    /// A random write, of any kind. The model decides whether it must succeed or be refused.
    fn a_write(&mut self) -> Write {
        let change = match self.random.u32(..100) {
            0..35 => RowChange::Insert,
            35..50 => RowChange::InsertOrReplace,
            50..65 => RowChange::InsertOrMerge,
            65..75 => RowChange::Replace,
            75..85 => RowChange::Merge,
            _ => RowChange::Delete,
        };
        let mut values = Values::default();
        if change != RowChange::Delete {
            values.number = self.random.bool().then(|| self.a_number());
            values.text = self.random.bool().then(|| self.a_text());
        }
        let mut write = Write {
            key: self.a_key(),
            change,
            values,
            if_match: None,
        };
        self.set_condition(&mut write);
        write
    }

    /// Sets the condition of a write that has one: mostly the row's ETag, sometimes `*`, sometimes an old ETag.
    fn set_condition(&mut self, write: &mut Write) {
        write.if_match = write.change.has_condition().then(|| {
            let current = self.model.get(&write.key).map(|row| row.etag.clone());
            match (self.random.u32(..10), current) {
                (0..7, Some(etag)) => etag,
                (7, _) => "W/\"datetime'2000-01-01T00%3A00%3A00.0000000Z'\"".to_owned(),
                _ => "*".to_owned(),
            }
        });
    }

    fn a_table(&mut self) -> String {
        table_name(self.random.u64(..self.scenario.tables))
    }

    /// One of the session's partitions. In key order, the partitions of all sessions are mixed.
    fn a_partition(&mut self) -> String {
        format!(
            "p{:02}{}",
            self.random.u64(..self.scenario.partitions),
            self.suffix
        )
    }

    fn a_key(&mut self) -> Key {
        Key {
            table: self.a_table(),
            partition: self.a_partition(),
            row: format!("r{:03}", self.random.u64(..self.scenario.rows)),
        }
    }

    fn a_number(&mut self) -> i64 {
        self.random.i64(0..1_000)
    }

    fn a_text(&mut self) -> String {
        let length = self.random.usize(..=self.scenario.text_max);
        let word = format!("{:016x} ", self.random.u64(..));
        word.chars().cycle().take(length).collect()
    }
}
