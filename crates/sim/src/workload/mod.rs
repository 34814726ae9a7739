//! The workload: sessions that write and read rows of their own in tables that they share, and counters that they fight for.
//!
//! Every answer is compared with the session's [`Model`](crate::model::Model) at once; when all are done, all tables are read and
//! compared with all models together.

mod batch;
mod counters;
mod protocol;
mod query;
mod session;

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use tokio::sync::watch;

use self::counters::Counters;
use self::protocol::Ask;
use self::query::Query;
use self::session::{Connection, Session};
use crate::model::{Key, Row};
use crate::scenario::Scenario;
use crate::trace::Trace;

/// A fault on purpose, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// A row of an acknowledged write is gone.
    LostWrite,
}

/// How far the sessions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Operations of all sessions so far.
    pub(crate) operations: u64,
    /// All work is done and checked.
    pub(crate) is_done: bool,
}

/// What the sessions did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Operations, each checked.
    pub(crate) operations: u64,
    /// Requests, with further pages and repetitions.
    pub(crate) requests: u64,
    /// Requests that the server was too busy for.
    pub(crate) busy: u64,
    /// Writes that were refused, as they had to be.
    pub(crate) refused: u64,
    /// Rows read.
    pub(crate) rows: u64,
    /// Rows at the end.
    pub(crate) rows_left: u64,
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.requests += other.requests;
        self.busy += other.busy;
        self.refused += other.refused;
        self.rows += other.rows;
    }
}

/// The name of a table.
fn table_name(number: u64) -> String {
    format!("table{number}")
}

/// Does all the work.
///
/// # Errors
/// The first answer that was not as it had to be.
pub(crate) async fn run(
    scenario: Scenario,
    trace: Trace,
    progress: &watch::Sender<Progress>,
    plant: Option<Plant>,
) -> anyhow::Result<Work> {
    let mut owner = Connection::new("owner", &trace)?;
    for number in 0..scenario.tables {
        let answer = owner.send(&Ask::create_table(&table_name(number))).await?;
        ensure!(answer.status == 201, "creating a table: {}", answer.text());
    }
    let counters = Counters::create(&mut owner).await?;
    let sessions = (0..scenario.sessions).map(|number| {
        let plant = plant.filter(|_| number == 0);
        let session = Session::new(&scenario, number, counters.clone(), &trace, plant);
        async move { session?.work(progress).await }
    });
    let sessions = try_join_all(sessions).await?;
    let mut work = Work::default();
    let mut expected: BTreeMap<&Key, &Row> = BTreeMap::new();
    for session in &sessions {
        work.add(session.done());
        expected.extend(session.model().rows());
    }
    audit(&scenario, &mut owner, &expected).await?;
    counters.check(&mut owner).await?;
    work.add(owner.done());
    work.rows_left = expected.len() as u64;
    trace.note("auditor", &format!("{work:?}"));
    progress.send_modify(|progress| progress.is_done = true);
    Ok(work)
}

/// Reads all tables and compares them with what the sessions know.
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
            .with_context(|| format!("{key:?}: lost, it was {row:?}"))?;
        ensure!(
            found == *row,
            "{key:?}: acknowledged {row:?}, stored {found:?}"
        );
    }
    let surplus = stored.keys().find(|key| !expected.contains_key(key));
    ensure!(surplus.is_none(), "{surplus:?}: stored, and of no session");
    Ok(())
}
