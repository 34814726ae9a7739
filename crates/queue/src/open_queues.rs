//! The queues whose state is in memory.

use crate::group::OpenQueue;
use parking_lot::Mutex;
use partita_model::QueueSpace;
use partita_rt::hash::FastRandomState;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of queues at which the least recently used ones without requests are dropped from memory. A queue takes at
/// most 256 KiB.
const QUEUES_MAX: usize = 1024;

/// Queues in memory by the prefix of their keys.
#[derive(Debug, Default)]
pub(crate) struct OpenQueues {
    queues: Mutex<HashMap<bytes::Bytes, Arc<OpenQueue>, FastRandomState>>,
    uses: AtomicU64,
}

impl OpenQueues {
    /// The queue in memory, loaded when its first group is executed.
    pub(crate) fn get(&self, space: &QueueSpace) -> Arc<OpenQueue> {
        let use_number = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut queues = self.queues.lock();
        let open = match queues.get(space.prefix()) {
            Some(open) => Arc::clone(open),
            None => {
                if queues.len() >= QUEUES_MAX {
                    drop_oldest(&mut queues);
                }
                let open = Arc::new(OpenQueue::new(space.clone()));
                queues.insert(space.prefix().clone(), Arc::clone(&open));
                open
            }
        };
        open.used(use_number);
        open
    }

    /// The queue if it is in memory.
    pub(crate) fn find(&self, space: &QueueSpace) -> Option<Arc<OpenQueue>> {
        self.queues.lock().get(space.prefix()).cloned()
    }
}

/// Drops a quarter of the queues, so that the cost of the search is shared by many openings. Queues in use stay:
/// those with requests, and those whose receives wait for the arrivals of other requests. (Groups compare the header, so
/// a queue could be in memory twice.)
fn drop_oldest(queues: &mut HashMap<bytes::Bytes, Arc<OpenQueue>, FastRandomState>) {
    let mut uses: Vec<u64> = queues
        .values()
        .map(|open| open.last_use.load(Ordering::Relaxed))
        .collect();
    let (_, limit, _) = uses.select_nth_unstable(QUEUES_MAX / 4);
    let limit = *limit;
    queues.retain(|_, open| {
        open.last_use.load(Ordering::Relaxed) > limit || Arc::strong_count(open) > 1
    });
}
