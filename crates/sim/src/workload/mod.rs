//! The workload: sessions that write and read their own rows in shared tables, and shared counters; and sessions on
//! queues.
//!
//! Every answer is compared with the session's [`Model`](crate::model::Model) immediately. At the end, the rows of all
//! tables are compared with all models.

pub(crate) mod batch;
pub(crate) mod connection;
mod counters;
pub(crate) mod protocol;
mod query;
pub(crate) mod queue;
mod session;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use tokio::sync::watch;

use self::connection::Connection;
use self::counters::Counters;
use self::protocol::TableRequest;
use self::query::Query;
use self::session::Session;
use crate::model::{Key, Row};
use crate::scenario::Scenario;
use crate::trace::Trace;

/// A planted fault, which the simulation must find.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Plant {
    /// Delete a row whose write was acknowledged
    LostWrite,
    /// Delete a message whose put was acknowledged
    LostMessage,
}

/// The progress of all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Operations of all sessions so far.
    pub(crate) operations: u64,
    /// Whether all work is done and checked.
    pub(crate) is_done: bool,
    /// Sessions on tables that rest, and send no request.
    pub(crate) resting: u64,
    /// How often the server was killed.
    pub(crate) kills: u64,
}

/// Counts of the sessions' work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Operations.
    operations: u64,
    /// Requests, including further pages and retries.
    requests: u64,
    /// Requests refused because the server was too busy.
    busy: u64,
    /// Requests whose connection was cut before their answer.
    lost: u64,
    /// Writes refused as expected.
    refused: u64,
    /// Rows read.
    rows: u64,
    /// Messages received.
    messages: u64,
    /// Rows in the models at the end.
    rows_left: u64,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations, {} requests ({} busy, {} lost), {} refused, {} rows read, {} left, {} messages received",
            self.operations,
            self.requests,
            self.busy,
            self.lost,
            self.refused,
            self.rows,
            self.rows_left,
            self.messages
        )
    }
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.requests += other.requests;
        self.busy += other.busy;
        self.refused += other.refused;
        self.rows += other.rows;
        self.lost += other.lost;
        self.messages += other.messages;
    }
}

/// The name of a table.
fn table_name(number: u64) -> String {
    format!("table{number}")
}

/// Creates the tables and counters, runs all sessions, and compares the stored rows with the models.
///
/// # Errors
/// The first wrong answer.
pub(crate) async fn run(
    scenario: Scenario,
    trace: Trace,
    progress: &watch::Sender<Progress>,
    plant: Option<Plant>,
) -> anyhow::Result<Work> {
    let mut owner = session::connection("owner", &trace)?;
    for number in 0..scenario.tables {
        let answer = owner
            .send(&TableRequest::create_table(&table_name(number)))
            .await?;
        answer.expect(201).context("creating a table")?;
    }
    let counters = Counters::create(&mut owner).await?;
    let sessions = (0..scenario.sessions).map(|number| {
        let plant = plant.filter(|_| number == 0);
        let session = Session::new(&scenario, number, counters.clone(), &trace, plant);
        async move { session?.work(progress).await }
    });
    let on_tables = try_join_all(sessions);
    let on_queues = queue::run(&scenario, &trace, progress, plant);
    let (sessions, mut work) = futures::try_join!(on_tables, on_queues)?;
    let mut expected: BTreeMap<&Key, &Row> = BTreeMap::new();
    for session in &sessions {
        work.add(session.work_done());
        expected.extend(session.model().rows());
    }
    audit(&scenario, &mut owner, &expected).await?;
    counters.check(&mut owner).await?;
    work.add(&owner.work);
    work.rows_left = expected.len() as u64;
    trace.note("auditor", &format!("{work:?}"));
    progress.send_modify(|progress| progress.is_done = true);
    Ok(work)
}

/// Reads all tables and compares them with the models.
async fn audit(
    scenario: &Scenario,
    owner: &mut Connection,
    expected: &BTreeMap<&Key, &Row>,
) -> anyhow::Result<()> {
    let mut stored = BTreeMap::new();
    for number in 0..scenario.tables {
        let rows = Query::all(table_name(number)).run(owner).await?;
        stored.extend(
            rows.into_iter()
                .filter(|(key, _)| !counters::is_counter(key)),
        );
    }
    for (key, row) in expected {
        let found = stored
            .get(*key)
            .with_context(|| format!("{key:?}: acknowledged {row:?}, not stored"))?;
        ensure!(
            found == *row,
            "{key:?}: acknowledged {row:?}, stored {found:?}"
        );
    }
    let surplus = stored.keys().find(|key| !expected.contains_key(key));
    ensure!(surplus.is_none(), "{surplus:?}: stored, but not in a model");
    Ok(())
}
