//! Processes with a registry in memory, in tokio's virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use partita_coordinator::{
    Assignment, Election, JoinError, Life, LogNumber, Member, MemberParts, MemoryRegistry, Owner,
    Placement, RangeId, RangeRecord, RangeShape, Registry, Seen, ServerInfo, StateDir, Stored,
    Table, Tenure, Term, Versions,
};
use partita_rt::{Tasks, TokioClock};
use tempfile::TempDir;

use crate::link::Link;

pub(crate) const TTL: Duration = Duration::from_secs(2);

/// Longer than any wait of the rules.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The registry, and the folder of the processes' state directories.
pub(crate) struct World {
    pub(crate) memory: MemoryRegistry,
    folder: TempDir,
    /// The number of the next log.
    logs: AtomicU64,
}

/// A process: its life, and its connection to the registry.
pub(crate) struct Process {
    pub(crate) member: Member,
    pub(crate) log: LogNumber,
    pub(crate) link: Arc<Link>,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = TokioClock::with_rate(1.0);
        Self {
            memory: MemoryRegistry::new(Arc::new(clock)),
            folder: tempfile::tempdir().unwrap(),
            logs: AtomicU64::new(1),
        }
    }

    pub(crate) fn registry(&self) -> Arc<dyn Registry> {
        Arc::new(self.memory.clone())
    }

    /// The state directory `name`.
    pub(crate) fn state_dir(&self, name: &str) -> StateDir {
        StateDir::open(self.folder.path().join(name)).unwrap()
    }

    pub(crate) async fn try_join(
        &self,
        name: &str,
        state_dir: StateDir,
    ) -> Result<Process, JoinError> {
        self.try_join_as(name, state_dir, Versions::OWN).await
    }

    /// Joins with a program that supports these cluster versions.
    pub(crate) async fn try_join_as(
        &self,
        name: &str,
        state_dir: StateDir,
        versions: Versions,
    ) -> Result<Process, JoinError> {
        let link = Link::new(self.registry());
        self.try_join_through(link, name, state_dir, versions).await
    }

    pub(crate) async fn try_join_through(
        &self,
        link: Arc<Link>,
        name: &str,
        state_dir: StateDir,
        versions: Versions,
    ) -> Result<Process, JoinError> {
        let log = LogNumber(self.logs.fetch_add(1, Ordering::Relaxed));
        let parts = MemberParts {
            registry: Arc::clone(&link) as Arc<dyn Registry>,
            clock: Arc::new(TokioClock::with_rate(1.0)),
            tasks: Tasks::new(),
            name: name.to_owned(),
            info: ServerInfo {
                log: Some(log),
                ..ServerInfo::default().with_versions(versions)
            },
            ttl: TTL,
            state_dir,
        };
        let member = Member::join(parts).await?;
        Ok(Process { member, log, link })
    }

    pub(crate) async fn join(&self, name: &str) -> Process {
        self.try_join(name, self.state_dir(name)).await.unwrap()
    }

    pub(crate) async fn table(&self) -> Table {
        Table::read(&self.memory).await.unwrap()
    }

    /// The key of a range.
    pub(crate) async fn key(&self, range: u64) -> Stored<RangeRecord> {
        let table = self.table().await;
        table.ranges().get(&RangeId(range)).unwrap().clone()
    }

    /// Waits until a life has no lease.
    pub(crate) async fn dead(&self, owner: &Owner) {
        let routes = partita_coordinator::Routes::follow(self.registry(), &Tasks::new());
        let dead =
            |table: &Table| table.revision().0 > 0 && !table.is_alive(&owner.name, owner.life);
        routes.wait_for(LONG, dead).await.unwrap();
    }

    /// Assigns a range that has a key to `to`.
    pub(crate) async fn assign(&self, term: &Term, range: u64, to: &Process) -> Assignment {
        let placement = placement(range, Seen::Key(self.key(range).await), to);
        term.assign(&[placement]).await.unwrap().remove(0)
    }

    /// A served range that never had another owner.
    pub(crate) async fn served(&self, term: &Term, range: u64, by: &Process) -> Tenure {
        let placement = placement(range, absent(), by);
        let assignment = loop {
            match term.assign(std::slice::from_ref(&placement)).await {
                Ok(mut assignments) => break assignments.remove(0),
                Err(partita_coordinator::TermError::TooEarly(_, wait)) => {
                    tokio::time::sleep(wait).await;
                }
                Err(error) => panic!("{error}"),
            }
        };
        by.member.activate(&assignment).await.unwrap()
    }
}

impl Process {
    pub(crate) fn owner(&self) -> &Owner {
        self.member.owner()
    }

    pub(crate) fn life(&self) -> Life {
        self.owner().life
    }

    /// Waits until the life is over.
    pub(crate) async fn over(&self) {
        let over = tokio::time::timeout(LONG, self.member.gate().over());
        over.await.expect("the life goes on");
    }

    pub(crate) async fn elected(&self) -> Term {
        match self.member.stand().await.unwrap() {
            Election::Elected(term) => term,
            Election::Held(term) => panic!("another manager has term {term}"),
        }
    }
}

/// Two processes, of which the second is the manager.
pub(crate) async fn two() -> (World, Process, Process, Term) {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let term = b.elected().await;
    (world, a, b, term)
}

pub(crate) fn shape(start: &[u8], end: Option<&[u8]>) -> RangeShape {
    RangeShape {
        epoch: 1,
        start: start.to_vec(),
        end: end.map(<[u8]>::to_vec),
    }
}

/// A range of all keys that has no key in the registry, and no logs.
pub(crate) fn absent() -> Seen {
    Seen::Absent {
        shape: shape(b"", None),
        logs: Vec::new(),
    }
}

pub(crate) fn placement(range: u64, seen: Seen, to: &Process) -> Placement {
    Placement {
        range: RangeId(range),
        seen,
        to: to.owner().clone(),
    }
}
