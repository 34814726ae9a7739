//! Compares the clock of this machine with that of the manager before a server joins.
//!
//! The clock of a database never goes back, whichever server has it. So a clock that is far ahead would raise those of all
//! servers, for ever, and a server whose clock is far behind would write the time of others.

use std::time::{Duration, SystemTime};

use partita_coordinator::Routes;
use partita_rt::Clock;

use crate::admin::wall_clock_of;
use crate::forwarding::RegistryRouting;

/// By how much the clocks of two servers may differ.
const OFF_MAX: Duration = Duration::from_secs(5);

/// How long the manager may take to say its time.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);

/// Why the server with this name may not join. Without a manager that answers, it may.
pub(super) async fn refusal(
    name: &str,
    clock: &dyn Clock,
    routes: &Routes,
    routing: &RegistryRouting,
) -> Option<String> {
    let table = routes.current();
    let manager = &table.manager()?.record.owner.name;
    if manager == name {
        return None;
    }
    let peer = routing.peer(manager)?;
    let before = clock.now();
    let theirs = wall_clock_of(&peer, ANSWER_PATIENCE).await;
    let after = clock.now();
    match theirs {
        Ok(theirs) => difference(theirs, before, after).map(|difference| {
            format!(
                "the clock of this machine is {difference} that of {manager}, the manager of the cluster, and {} s are \
                 allowed: set it, then start this server again",
                OFF_MAX.as_secs()
            )
        }),
        Err(error) => {
            tracing::debug!(manager, error, "the manager does not say its time");
            None
        }
    }
}

/// By how much the own clock differs from another one, which was read between two readings of the own, if it is too much.
fn difference(theirs: SystemTime, before: SystemTime, after: SystemTime) -> Option<String> {
    let sides = [
        (before.duration_since(theirs), "ahead of"),
        (theirs.duration_since(after), "behind"),
    ];
    let mut sides = sides.into_iter();
    sides.find_map(|(off, side)| {
        let off = off.ok().filter(|off| *off > OFF_MAX)?;
        Some(format!("{} s {side}", off.as_secs()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use partita_coordinator::Table;
    use partita_rt::{ShiftedClock, SystemClock};

    use super::super::tests::{Folder, PATIENCE, routes};
    use super::*;

    #[test]
    fn the_time_of_the_question_is_no_difference() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let differs = |theirs, before, after| difference(at(theirs), at(before), at(after));
        assert_eq!(differs(100, 95, 105), None);
        assert_eq!(differs(100, 105, 105), None);
        assert_eq!(differs(100, 106, 107).as_deref(), Some("6 s ahead of"));
        assert_eq!(differs(100, 80, 94).as_deref(), Some("6 s behind"));
        // The clock was set back between its two readings.
        assert_eq!(differs(100, 101, 99), None);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_joins_only_with_about_the_time_of_the_manager() {
        let folder = Folder::new();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let first = folder.start("first", clock, &[]).await;
        let of_first = routes(&first);
        let managed = of_first.wait_for(PATIENCE, |table| table.manager().is_some());
        assert!(managed.await.is_some());

        let ahead = |seconds| Arc::new(ShiftedClock::ahead(Duration::from_secs(seconds)));
        let second = folder.start("second", ahead(30), &[]).await;
        let why = second.fenced().await;
        assert!(
            why.contains("s ahead of that of first, the manager"),
            "{why}"
        );
        let third = folder.start("third", ahead(2), &[]).await;
        let has_third = |table: &Table| table.servers().contains_key("third");
        let joined = of_first.wait_for(PATIENCE, has_third);
        let joined = joined.await.expect("the third server joins");
        assert!(!joined.servers().contains_key("second"));
        for server in [second, third, first] {
            server.stop().await;
        }
    }
}
