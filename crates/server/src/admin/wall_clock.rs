//! The time of a server, for another server of the cluster that compares it with its own.

use std::time::{Duration, SystemTime};

use partita_peer::Peer;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Answered};
use super::peers::{ask, page};

/// The path of the page, which only servers ask for.
pub(super) const PATH: [&str; 1] = ["clock"];

/// The page.
#[derive(Debug, Serialize, Deserialize)]
struct WallClock {
    /// Milliseconds since 1970.
    unix_ms: u64,
}

/// The time of this server.
pub(super) fn answer(now: SystemTime) -> Answered {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    Answer::ok(&WallClock {
        unix_ms: u64::try_from(since).unwrap_or(u64::MAX),
    })
}

/// The time of another server, or why it does not say it: earlier versions do not.
pub(crate) async fn wall_clock_of(peer: &Peer, patience: Duration) -> Result<SystemTime, String> {
    let (_, json) = ask(peer, &page(&PATH, None), patience).await?;
    let clock: WallClock = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    let since = Duration::from_millis(clock.unix_ms);
    let time = SystemTime::UNIX_EPOCH.checked_add(since);
    time.ok_or_else(|| "its time is out of range".to_owned())
}
