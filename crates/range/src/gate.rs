//! The gate of a range: admits writes, or refuses them while the range is being split or merged.
//!
//! A write holds a pass from before it locks its keys until it is durable or refused. Freezing stops issuing passes and
//! waits until all passes are returned; after that the rows of the range do not change.

use crate::follow::Follow;
use partita_engine::{Write, WriteError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The frozen bit; the other bits count passes.
const FROZEN: u64 = 1 << 63;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: AtomicU64,
    /// Notified when the last pass of a frozen gate is returned.
    emptied: Notify,
    /// Records the writes of returned passes.
    follow: Follow,
}

impl Gate {
    /// A pass, unless the gate is frozen.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Pass> {
        let before = self.state.fetch_add(1, Ordering::AcqRel);
        let pass = Pass {
            gate: Arc::clone(self),
        };
        // If the gate is frozen, the pass is dropped here, which decrements the count again.
        (before & FROZEN == 0).then_some(pass)
    }

    /// Stops issuing passes, and waits until all passes are returned. Cancel safe: after a cancel the gate stays
    /// frozen.
    pub(crate) async fn freeze(&self) {
        self.state.fetch_or(FROZEN, Ordering::AcqRel);
        loop {
            let emptied = self.emptied.notified();
            if self.state.load(Ordering::Acquire) == FROZEN {
                return;
            }
            emptied.await;
        }
    }

    /// Issues passes again.
    pub(crate) fn thaw(&self) {
        self.state.fetch_and(!FROZEN, Ordering::AcqRel);
    }

    pub(crate) const fn follow(&self) -> &Follow {
        &self.follow
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.state.load(Ordering::Acquire) & FROZEN != 0
    }
}

/// The permission to write. It is returned when the pass is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<Gate>,
}

impl Pass {
    /// Records writes before the pass is returned, so that a frozen gate has recorded all writes.
    pub(crate) fn note(&self, writes: &[Write], result: Result<(), WriteError>) {
        self.gate.follow.note(writes, result);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.gate.state.fetch_sub(1, Ordering::AcqRel) == FROZEN + 1 {
            // `notify_one` stores the notification for a freeze that is about to wait.
            self.gate.emptied.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn freezing_waits_for_passes_and_refuses_new_ones() {
        let gate = Arc::new(Gate::default());
        let pass = gate.enter().unwrap();
        let mut freezing = std::pin::pin!(gate.freeze());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(freezing.as_mut().poll(&mut context).is_pending());
        assert!(gate.enter().is_none());
        drop(pass);
        freezing.await;
        assert!(gate.enter().is_none());
        gate.thaw();
        assert!(gate.enter().is_some());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_frozen_gate_has_no_passes() {
        let gate = Arc::new(Gate::default());
        let inside = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicU64::new(0));
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (gate, inside, stop) = (gate.clone(), inside.clone(), stop.clone());
            workers.spawn(async move {
                while stop.load(Ordering::Relaxed) == 0 {
                    if let Some(pass) = gate.enter() {
                        inside.fetch_add(1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(pass);
                    }
                    tokio::task::yield_now().await;
                }
            });
        }
        for _ in 0..300 {
            let frozen = tokio::time::timeout(Duration::from_secs(20), gate.freeze()).await;
            frozen.expect("all passes are returned");
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            gate.thaw();
            tokio::task::yield_now().await;
        }
        stop.store(1, Ordering::Relaxed);
        while let Some(ended) = workers.join_next().await {
            ended.unwrap();
        }
    }
}
