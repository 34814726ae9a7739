//! The task that keeps a lease alive.

use std::sync::Arc;
use std::time::Duration;

use super::{Gate, Timing};
use crate::record::{Life, server_key};
use crate::registry::{Registry, RegistryError};

/// The pause after a keepalive that was not answered.
const PAUSE: Duration = Duration::from_millis(50);

/// The least time between keepalives, however many reads wait for one: 1,000 a second.
const GAP: Duration = Duration::from_millis(1);

/// Keeps the lease of a life alive, until the life is over. Ends the life when the registry says that the lease is gone.
pub(crate) async fn keep(
    registry: Arc<dyn Registry>,
    gate: Gate,
    name: String,
    life: Life,
    timing: Timing,
) {
    let key = server_key(&name);
    let mut pause = timing.keep_alive_every();
    let mut failing = false;
    let mut not_before = tokio::time::Instant::now();
    while !gate.is_over() {
        if failing {
            // Also when a caller waits, so that a registry that is down is not flooded.
            tokio::time::sleep(pause).await;
        } else {
            // The pause is over when it is over; a caller only shortens it.
            let _ = tokio::time::timeout(pause, gate.wanted()).await;
            tokio::time::sleep_until(not_before).await;
        }
        if gate.is_over() {
            return;
        }
        not_before = tokio::time::Instant::now() + GAP;
        let sent = gate.sent();
        match renew(&*registry, &key, life).await {
            Ok(Some(ttl)) => {
                let timing = Timing { ttl };
                gate.answered(sent, timing);
                if std::mem::take(&mut failing) {
                    tracing::info!(%life, "the lease is kept alive again");
                }
                pause = timing.keep_alive_every();
            }
            Ok(None) => {
                gate.end();
                tracing::warn!(%life, server = name, "the lease has ended");
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%life, %error, "a keepalive was not answered; retrying");
                }
                pause = PAUSE;
            }
        }
    }
}

/// Renews a lease, and reads that the server's key still has it: a registry that was wiped keeps leases but not keys, and
/// a manager looks at the keys. Both requests begin now. Returns the TTL, or nothing when the life is over.
async fn renew(
    registry: &dyn Registry,
    key: &str,
    life: Life,
) -> Result<Option<Duration>, RegistryError> {
    let (ttl, entry) = tokio::join!(registry.keep_alive(life.0), registry.get(key));
    let has_key = entry?.and_then(|entry| entry.lease) == Some(life.0);
    Ok(ttl?.filter(|_| has_key))
}
