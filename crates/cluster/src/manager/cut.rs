//! Pins of ranges of several servers at one instant, in two phases.
//!
//! ```text
//!  every server:  … writes │ hold: its commit loop stands still │ pin │ writes …
//!  manager:       Hold to all ─▶ all hold: the instant ─▶ Cut to all ─▶ all have pinned ─▶ the pins
//! ```
//!
//! At the instant no server acknowledges a write. A server that pins has held without a break since then, because a hold
//! that has ended does not pin. So if a pin has a write, the pins have every write that was acknowledged before it was
//! sent, whichever servers have the two. No clocks are compared.
//!
//! - A server that dies or answers late fails the attempt; the holds of the others end at once, or after [`HOLD_MAX`] if
//!   the manager dies too. Pins that were made are released, and maintenance looks for others.
//! - Splits and merges are excluded by the change lock. A range that moves or changes its owner is refused by a server
//!   that does not serve it when it holds. A server that lost a range unnoticed cannot pin it: the next owner has fenced
//!   the manifest of its database.
//! - A second attempt begins when all ranges are served.

use super::hosts::Hosts;
use crate::coordinator::serving_owner;
use crate::member::messages::{HostAnswer, HostRequest, Refusal, numbers};
use futures::future::{join_all, try_join_all};
use partita_coordinator::Table;
use partita_engine::{ChangeError, PinId, Pinned};
use partita_range::RangeId;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How long a server holds its writes at most. It has to cover the slowest answer to a hold, and the way of the cut.
pub(crate) const HOLD_MAX: Duration = Duration::from_secs(1);

/// How long the servers may take to hold: until a group of writes has ended.
const HOLD_PATIENCE: Duration = Duration::from_millis(800);

/// How long the servers may take to pin: until the rows in memory are in files. Longer than the deadline of the engine.
const CUT_PATIENCE: Duration = Duration::from_secs(75);

/// How long a server may take to end a hold. It does so by itself after [`HOLD_MAX`].
const END_HOLD_PATIENCE: Duration = Duration::from_millis(500);

/// How long ranges that are being moved or taken over are waited for: longer than a failover.
const SERVED_PATIENCE: Duration = Duration::from_secs(10);

/// The ranges of one server.
struct Share {
    server: String,
    ranges: Vec<RangeId>,
}

impl Hosts {
    /// Pins ranges at one instant. Tries a second time after a failure.
    ///
    /// # Errors
    /// [`ChangeError`]; pins may exist, now or later.
    pub(super) async fn pin_all(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        match self.try_pin(ranges).await {
            Err(error) => {
                tracing::info!(%error, "the servers did not pin their ranges; trying once more");
                self.try_pin(ranges).await
            }
            pinned => pinned,
        }
    }

    async fn try_pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        let shares = self.shares(ranges).await?;
        let cut = partita_rt::random::u64();
        if let Err(error) = self.hold(&shares, cut).await {
            self.end_hold(&shares, cut).await;
            return Err(error);
        }
        let cutting = shares.iter().map(|share| self.cut(share, cut));
        let (mut pins, mut pause, mut failed) = (BTreeMap::new(), Duration::ZERO, None);
        for (share, pinned) in shares.iter().zip(join_all(cutting).await) {
            match pinned {
                Ok(pinned) => {
                    pins.extend(share.ranges.iter().copied().zip(pinned.pins));
                    pause = pause.max(pinned.pause);
                }
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            self.release(&pins).await;
            return Err(error);
        }
        let in_order = ranges.iter().filter_map(|range| pins.get(range).cloned());
        Ok(Pinned {
            pins: in_order.collect(),
            pause,
        })
    }

    /// The ranges by their servers, as soon as all are served.
    async fn shares(&self, ranges: &[RangeId]) -> Result<Vec<Share>, ChangeError> {
        let is_served = |table: &Table, range: &RangeId| serving_owner(table, *range).is_some();
        let all = |table: &Table| ranges.iter().all(|range| is_served(table, range));
        let Some(table) = self.routes.wait_for(SERVED_PATIENCE, all).await else {
            let table = self.routes.current();
            let homeless = ranges.iter().filter(|range| !is_served(&table, range));
            let homeless: Vec<String> = homeless.map(ToString::to_string).collect();
            let why = format!("no server serves these ranges: {}", homeless.join(", "));
            return Err(ChangeError::Elsewhere(why.into()));
        };
        let mut shares: BTreeMap<String, Vec<RangeId>> = BTreeMap::new();
        for range in ranges {
            if let Some(owner) = serving_owner(&table, *range) {
                shares.entry(owner).or_default().push(*range);
            }
        }
        let share = |(server, ranges)| Share { server, ranges };
        Ok(shares.into_iter().map(share).collect())
    }

    /// The first phase: every server holds its writes.
    async fn hold(&self, shares: &[Share], cut: u64) -> Result<(), ChangeError> {
        let holding = shares.iter().map(|share| async move {
            let request = HostRequest::Hold {
                cut,
                ranges: numbers(&share.ranges),
                limit_ms: u64::try_from(HOLD_MAX.as_millis()).unwrap_or(u64::MAX),
            };
            match self.ask_within(HOLD_PATIENCE, share, &request).await? {
                HostAnswer::Done => Ok(()),
                other => Err(of_server(&share.server, refusal(&other))),
            }
        });
        try_join_all(holding).await.map(drop)
    }

    /// The second phase, for one server.
    async fn cut(&self, share: &Share, cut: u64) -> Result<Pinned, ChangeError> {
        let request = HostRequest::Cut { cut };
        match self.ask_within(CUT_PATIENCE, share, &request).await? {
            HostAnswer::Pins { pins, pause_us } if pins.len() == share.ranges.len() => Ok(Pinned {
                pins: pins.iter().map(|pin| PinId::new(pin)).collect(),
                pause: Duration::from_micros(pause_us),
            }),
            other => Err(of_server(&share.server, refusal(&other))),
        }
    }

    async fn end_hold(&self, shares: &[Share], cut: u64) {
        let request = &HostRequest::EndHold { cut };
        let asking = shares.iter().map(|share| async move {
            let asked = self.ask_within(END_HOLD_PATIENCE, share, request).await;
            if let Err(error) = asked {
                tracing::debug!(%error, "a server did not end its hold; it does so by itself");
            }
        });
        join_all(asking).await;
    }

    /// Releases the pins of an attempt that failed.
    async fn release(&self, pins: &BTreeMap<RangeId, PinId>) {
        for (range, pin) in pins {
            let engines = self.own_engines();
            if let Err(error) = engines.unpin(*range, pin).await {
                tracing::warn!(%error, %range, "cannot release a pin; maintenance will retry");
            }
        }
    }

    async fn ask_within(
        &self,
        patience: Duration,
        share: &Share,
        request: &HostRequest,
    ) -> Result<HostAnswer, ChangeError> {
        let server = &share.server;
        let asked = tokio::time::timeout(patience, self.ask(server, request)).await;
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(of_server(server, error)),
            Err(_elapsed) => Err(of_server(server, "it did not answer in time")),
        }
    }
}

/// Why a server did not do what it was asked.
fn refusal(answer: &HostAnswer) -> String {
    match answer {
        HostAnswer::Refused {
            why: Refusal::Failed(why),
        } => why.to_string(),
        other => format!("unexpected answer {other:?}"),
    }
}

fn of_server(server: &str, why: impl fmt::Display) -> ChangeError {
    ChangeError::Elsewhere(format!("server {server} did not do its part: {why}").into())
}
