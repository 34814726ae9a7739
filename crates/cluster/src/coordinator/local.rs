//! The coordinator of a process that serves all ranges itself: grants every current assignment.

use super::{Assignment, Coordinator, CoordinatorError};
use crate::map::{MapRecord, RangeSpec};
use async_trait::async_trait;
use parking_lot::Mutex;
use partita_range::RangeId;
use std::collections::{HashMap, HashSet};

/// Assignments in memory. They are lost at the end of the process; a start assigns all ranges again.
#[derive(Debug, Default)]
pub struct LocalCoordinator {
    register: Mutex<Register>,
}

#[derive(Debug, Default)]
struct Register {
    /// The revision of each range's newest assignment.
    current: HashMap<RangeId, u64>,
    last_revision: u64,
}

impl Register {
    fn enter(&mut self, range: RangeId) -> u64 {
        self.last_revision += 1;
        self.current.insert(range, self.last_revision);
        self.last_revision
    }
}

#[async_trait]
impl Coordinator for LocalCoordinator {
    async fn assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, CoordinatorError> {
        let mut register = self.register.lock();
        let assignments = ranges.iter().map(|range| Assignment {
            range: range.clone(),
            revision: register.enter(range.id),
        });
        Ok(assignments.collect())
    }

    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError> {
        let range = assignment.range.id;
        let current = self.register.lock().current.get(&range).copied();
        if current == Some(assignment.revision) {
            Ok(())
        } else {
            Err(CoordinatorError::Superseded(range))
        }
    }

    async fn announce(&self, map: &MapRecord) -> Result<(), CoordinatorError> {
        let mut register = self.register.lock();
        let listed: HashSet<RangeId> = map.specs().map(|range| range.id).collect();
        register.current.retain(|range, _| listed.contains(range));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Epoch;
    use partita_range::Bounds;

    fn range(id: u64) -> RangeSpec {
        RangeSpec {
            id: RangeId(id),
            epoch: Epoch(1),
            bounds: Bounds::all(),
        }
    }

    async fn is_granted(coordinator: &LocalCoordinator, assignment: &Assignment) -> bool {
        coordinator.activate(assignment).await.is_ok()
    }

    #[tokio::test]
    async fn only_the_newest_assignment_of_a_range_is_granted() {
        let coordinator = LocalCoordinator::default();
        let first = coordinator.assign(&[range(1), range(2)]).await.unwrap();
        let again = coordinator.assign(&[range(1)]).await.unwrap();
        assert!(!is_granted(&coordinator, &first[0]).await);
        assert!(is_granted(&coordinator, &again[0]).await);
        assert!(is_granted(&coordinator, &first[1]).await, "range 2 stays");
    }

    #[tokio::test]
    async fn a_range_that_the_map_does_not_list_is_no_longer_granted() {
        let coordinator = LocalCoordinator::default();
        let assigned = coordinator.assign(&[range(1), range(2)]).await.unwrap();
        coordinator.announce(&MapRecord::first()).await.unwrap();
        assert!(is_granted(&coordinator, &assigned[0]).await);
        assert!(!is_granted(&coordinator, &assigned[1]).await);
    }
}
