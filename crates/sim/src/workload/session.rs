//! A session: one client with rows of its own.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::sync::watch;

use super::counters::Counters;
use super::protocol::{Ask, error_code, row, signature};
use super::query::Query;
use super::{Plant, Progress, Work, batch, table_name};
use crate::client::{Answer, Client};
use crate::model::{Change, Key, Model, Refusal, Values, Write};
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::world::{SERVER, TABLE_PORT};

/// How often a request is sent again that the server was too busy for.
const TRIES: u32 = 100;

/// How long a session rests halfway, so that compactions and collections of garbage have their time.
const REST: Duration = Duration::from_secs(70);

/// Writes of a batch, at most.
const BATCH_MAX: usize = 12;

/// A connection of somebody who is named in the trace.
pub(super) struct Connection {
    name: String,
    client: Client,
    signature: String,
    trace: Trace,
    done: Work,
}

impl Connection {
    pub(super) fn new(name: &str, trace: &Trace) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            client: Client::new(SERVER, TABLE_PORT),
            signature: signature()?,
            trace: trace.clone(),
            done: Work::default(),
        })
    }

    /// What was done over it.
    pub(super) fn done(&self) -> &Work {
        &self.done
    }

    /// Notes that a write was refused as it had to be.
    pub(super) fn refused(&mut self) {
        self.done.refused += 1;
    }

    /// Notes that rows were read.
    pub(super) fn read_rows(&mut self, count: usize) {
        self.done.rows += count as u64;
    }

    /// Sends a request, again as long as the server is too busy and has not executed it.
    pub(super) async fn send(&mut self, ask: &Ask) -> anyhow::Result<Answer> {
        for attempt in 1..=TRIES {
            let answer = self.client.send(ask.request(&self.signature)?).await?;
            self.done.requests += 1;
            self.note(ask, &answer);
            ensure!(answer.status != 500, "{ask:?}: {}", answer.text());
            if answer.status != 503 {
                return Ok(answer);
            }
            self.done.busy += 1;
            tokio::time::sleep(Duration::from_millis(10) * attempt).await;
        }
        anyhow::bail!("{ask:?}: the server was busy {TRIES} times")
    }

    /// The answer is in the trace with all its bytes, as their hash.
    fn note(&self, ask: &Ask, answer: &Answer) {
        let Ask {
            method,
            path,
            query,
            if_match,
            body,
            ..
        } = ask;
        let mut hash = crc32fast::Hasher::new();
        for (name, value) in &answer.headers {
            hash.update(name.as_str().as_bytes());
            hash.update(value.as_bytes());
        }
        hash.update(&answer.body);
        let what = format!(
            "{method} {path}?{query} {if_match:?} {:08x} -> {} {} {:08x} {:?}",
            crc32fast::hash(body.as_bytes()),
            answer.status,
            answer.body.len(),
            hash.finalize(),
            answer.header("etag"),
        );
        self.trace.note(&self.name, &what);
    }
}

/// A client at work.
pub(super) struct Session {
    scenario: Scenario,
    /// What its partitions end with.
    mark: String,
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
            connection: Connection::new(&name, trace)?,
            random: scenario.seed.stream(&name),
            mark: format!("-{number:02}"),
            model: Model::default(),
            counters,
            plant,
        })
    }

    pub(super) fn done(&self) -> &Work {
        self.connection.done()
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Does its share of the operations. Rests in the middle.
    pub(super) async fn work(mut self, progress: &watch::Sender<Progress>) -> anyhow::Result<Self> {
        let share = self.scenario.operations.div_ceil(self.scenario.sessions);
        for number in 0..share {
            self.operation().await?;
            self.connection.done.operations += 1;
            progress.send_modify(|progress| progress.operations += 1);
            if number == share / 2 {
                self.lose_a_row().await?;
                self.connection.client.disconnect();
                tokio::time::sleep(REST).await;
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
                    .raise(&mut self.connection, &mut self.random)
                    .await
            }
            _ => self.create_table_again().await,
        }
    }

    async fn write(&mut self, write: &Write) -> anyhow::Result<()> {
        let answer = self.connection.send(&Ask::write(write)).await?;
        match self.model.expect(write) {
            Ok(left) => {
                ensure!(
                    answer.status == write.change.done(),
                    "{write:?}: {}",
                    answer.text()
                );
                let etag = answer.header("etag").map(str::to_owned);
                self.acknowledge(write, left, etag)
            }
            Err(Refusal { status, code }) => {
                self.connection.refused();
                let refused = (answer.status, error_code(&answer.body));
                ensure!(
                    refused == (status, Some(code.to_owned())),
                    "{write:?}: {refused:?}, not {code}"
                );
                Ok(())
            }
        }
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
            // A batch names no row twice.
            if writes.iter().all(|other| other.key != write.key) {
                writes.push(write);
            }
        }
        let answer = self.connection.send(&batch::ask(&writes)).await?;
        ensure!(answer.status == 202, "{writes:?}: {}", answer.text());
        let parts = batch::parts(&answer)?;
        let mut left = Vec::new();
        for (index, write) in writes.iter().enumerate() {
            match self.model.expect(write) {
                Ok(values) => left.push(values),
                Err(refusal) => {
                    self.connection.refused();
                    return batch::check_refused(&parts, writes.len(), index, refusal)
                        .with_context(|| format!("{writes:?}"));
                }
            }
        }
        ensure!(parts.len() == writes.len(), "{writes:?}: {parts:?}");
        for ((write, left), part) in writes.iter().zip(left).zip(parts) {
            ensure!(part.status == write.change.done(), "{write:?}: {part:?}");
            self.acknowledge(write, left, part.etag)?;
        }
        Ok(())
    }

    async fn get(&mut self, key: &Key) -> anyhow::Result<()> {
        let answer = self.connection.send(&Ask::get(key)).await?;
        let Some(expected) = self.model.get(key) else {
            let code = error_code(&answer.body);
            ensure!(answer.status == 404, "{key:?}: not 404: {}", answer.text());
            ensure!(
                code.as_deref() == Some("ResourceNotFound"),
                "{key:?}: {code:?}"
            );
            return Ok(());
        };
        ensure!(
            answer.status == 200,
            "{key:?}: not {expected:?}: {}",
            answer.text()
        );
        let (found, row) = row(&key.table, &answer)?;
        ensure!(
            found == *key && row == *expected,
            "{key:?}: {row:?}, not {expected:?}"
        );
        ensure!(
            answer.header("etag") == Some(&expected.etag),
            "{key:?}: another ETag"
        );
        self.connection.read_rows(1);
        Ok(())
    }

    async fn query(&mut self) -> anyhow::Result<()> {
        let mut query = Query::all(self.a_table());
        match self.random.u32(..20) {
            0 => {}
            1..10 => {
                let partition = self.a_partition();
                // No partition lies between the two.
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
            .filter(|(key, _)| key.partition.ends_with(&self.mark));
        let expected = self.model.rows().filter(|(key, row)| query.fits(key, row));
        let same = found.map(|(key, row)| (key, row)).eq(expected);
        ensure!(
            same,
            "{query:?} of {} gave {rows:?}, which is not {:?}",
            self.mark,
            self.model
        );
        Ok(())
    }

    async fn create_table_again(&mut self) -> anyhow::Result<()> {
        let create = Ask::create_table(&self.a_table());
        let answer = self.connection.send(&create).await?;
        self.connection.refused();
        let refused = (answer.status, error_code(&answer.body));
        ensure!(
            refused == (409, Some("TableAlreadyExists".to_owned())),
            "{refused:?}"
        );
        Ok(())
    }

    /// The planted fault: a row is deleted that the session takes for stored.
    async fn lose_a_row(&mut self) -> anyhow::Result<()> {
        let Some(Plant::LostWrite) = self.plant.take() else {
            return Ok(());
        };
        let (key, _) = self.model.rows().next().context("no row to lose")?;
        let delete = Write {
            key: key.clone(),
            change: Change::Delete,
            values: Values::default(),
            if_match: Some("*".to_owned()),
        };
        self.connection.send(&Ask::write(&delete)).await?;
        Ok(())
    }

    /// A write, of any kind and with any outcome.
    fn a_write(&mut self) -> Write {
        let change = match self.random.u32(..100) {
            0..35 => Change::Insert,
            35..50 => Change::InsertOrReplace,
            50..65 => Change::InsertOrMerge,
            65..75 => Change::Replace,
            75..85 => Change::Merge,
            _ => Change::Delete,
        };
        let mut values = Values::default();
        if change != Change::Delete {
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

    /// Mostly the row's ETag, where the change takes one; sometimes any, sometimes one that no row has.
    fn set_condition(&mut self, write: &mut Write) {
        let takes = matches!(
            write.change,
            Change::Replace | Change::Merge | Change::Delete
        );
        write.if_match = takes.then(|| {
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

    /// One of its partitions. Those of all sessions lie between each other.
    fn a_partition(&mut self) -> String {
        format!(
            "p{:02}{}",
            self.random.u64(..self.scenario.partitions),
            self.mark
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
