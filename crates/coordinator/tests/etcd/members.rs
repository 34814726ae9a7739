//! Processes that are members of a cluster with a real etcd.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use partita_coordinator::{
    Assignment, Election, LogNumber, Member, MemberParts, Placement, RangeId, RangeShape, Registry,
    Routes, Seen, ServerInfo, StateDir, Table, Tenure, Term, TermError,
};
use partita_rt::{SystemClock, Tasks};

/// Longer than anything takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) const RANGE: RangeId = RangeId(1);

/// The log of every process: the tests ask for no more than its name.
pub(crate) const LOG: LogNumber = LogNumber(7);

pub(crate) async fn join(registry: Arc<dyn Registry>, name: &str, folder: &Path) -> Member {
    let parts = MemberParts {
        registry,
        clock: Arc::new(SystemClock),
        tasks: Tasks::new(),
        name: name.to_owned(),
        info: ServerInfo {
            log: Some(LOG),
            ..ServerInfo::default()
        },
        ttl: Duration::from_secs(1),
        state_dir: StateDir::open(folder.join(name)).unwrap(),
    };
    Member::join(parts).await.unwrap()
}

pub(crate) async fn elected(member: &Member) -> Term {
    match member.stand().await.unwrap() {
        Election::Elected(term) => term,
        Election::Held(term) => panic!("another manager has term {term}"),
    }
}

pub(crate) fn absent() -> Seen {
    Seen::Absent {
        shape: RangeShape {
            epoch: 1,
            start: Vec::new(),
            end: None,
        },
        logs: Vec::new(),
    }
}

/// Assigns the range, waiting as long as the rules demand.
pub(crate) async fn assign(term: &Term, seen: Seen, to: &Member) -> Assignment {
    let placement = Placement {
        range: RANGE,
        seen,
        to: to.owner().clone(),
    };
    loop {
        match term.assign(std::slice::from_ref(&placement)).await {
            Ok(mut assigned) => return assigned.remove(0),
            Err(TermError::TooEarly(_, wait)) => tokio::time::sleep(wait).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Serves the range as the first owner.
pub(crate) async fn served(term: &Term, by: &Member) -> Tenure {
    let assignment = assign(term, absent(), by).await;
    by.activate(&assignment).await.unwrap()
}

/// The table when `accept` is true.
pub(crate) async fn when(routes: &Routes, accept: impl FnMut(&Table) -> bool) -> Arc<Table> {
    let table = routes.wait_for(LONG, accept).await;
    table.expect("the table does not change as expected")
}

/// Waits until the table shows the term.
pub(crate) async fn when_elected(routes: &Routes, term: &Term) {
    let elected = |table: &Table| {
        let manager = table.manager();
        manager.is_some_and(|manager| manager.created == term.number())
    };
    when(routes, elected).await;
}

/// The life, the term and the tenure have survived.
pub(crate) async fn have_survived(a: &Member, term: &Term, tenure: &Tenure, routes: &Routes) {
    assert!(a.gate().opened(LONG).await, "the life goes on");
    assert!(term.confirm().await.unwrap());
    a.release(tenure).await.unwrap();
    let released = when(routes, |table| {
        let key = table.ranges().get(&RANGE);
        key.is_some_and(|key| key.record.owner().is_none())
    });
    released.await;
}
