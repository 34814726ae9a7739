//! Answers to the requests of the manager.

use super::RangeServer;
use super::messages::{HostAnswer, HostRequest, KeyAnswer, Refusal, ids, numbers};
use crate::error::{ChangeRefused, HostError, error_chain};
use crate::host::{ChangeFailed, Host, Leftover, NewRange, RangeAction, RangeChange};
use crate::map::{ChangeRecord, MapRecord, RangeSpec};
use partita_engine::KeyPart;
use partita_range::{Bounds, RangeId, keys_within};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

impl RangeServer {
    /// Answers a request of the manager. Runs to its end even if the caller is dropped: a change must not be abandoned.
    pub async fn answer(self: &Arc<Self>, request: &[u8]) -> Vec<u8> {
        let answer = match serde_json::from_slice::<HostRequest>(request) {
            Ok(request) => {
                let server = Arc::clone(self);
                let answering = async move { server.answer_request(request).await };
                let answered = self.tasks.spawn("request of the manager", answering).await;
                answered.unwrap_or_else(|error| refused(&error))
            }
            Err(error) => refused(&error),
        };
        serde_json::to_vec(&answer).expect("an answer is JSON")
    }

    async fn answer_request(self: Arc<Self>, request: HostRequest) -> HostAnswer {
        let host = &self.cluster.host;
        match request {
            HostRequest::Survey { ranges } => self.survey(&ids(ranges)).await,
            HostRequest::SplitKey { range } => self.split_key(RangeId(range)).await,
            HostRequest::Change {
                record,
                new,
                decision,
            } => {
                let new = new.into_iter().map(RangeSpec::from).collect();
                self.change(record, new, &decision).await
            }
            HostRequest::Files => match host.files().await {
                Ok(served) => HostAnswer::Files {
                    files: served
                        .files
                        .into_iter()
                        .map(|file| (file.name, file.bytes))
                        .collect(),
                },
                Err(error) => refused(&error),
            },
            HostRequest::Act { range, action } => self.act(RangeId(range), action.into()).await,
            HostRequest::Removable { ranges } => match host.removable(&ids(ranges)).await {
                Ok(ranges) => HostAnswer::Ranges {
                    ranges: numbers(&ranges),
                },
                Err(error) => refused(&error),
            },
            HostRequest::HandOver { range } => match self.hand_over(RangeId(range)).await {
                Ok(()) => HostAnswer::Done,
                Err(error) => refused(&error),
            },
            HostRequest::Hold {
                cut,
                ranges,
                limit_ms,
            } => match self
                .hold(cut, &ids(ranges), Duration::from_millis(limit_ms))
                .await
            {
                Ok(()) => HostAnswer::Done,
                Err(error) => refused(&error),
            },
            HostRequest::Cut { cut } => self.answer_cut(cut).await,
            HostRequest::EndHold { cut } => {
                self.end_hold(cut);
                HostAnswer::Done
            }
            HostRequest::Loads => self.loads(),
            HostRequest::Shares { shares } => {
                if let Some(targets) = &self.cluster.targets {
                    targets.set_shares(self.cluster.clock.monotonic(), &shares);
                }
                HostAnswer::Done
            }
            HostRequest::Holds => HostAnswer::Ranges {
                ranges: numbers(&host.holds()),
            },
        }
    }

    fn loads(&self) -> HostAnswer {
        let loads = self.cluster.observe_recent();
        let targets = self.cluster.targets.as_ref();
        HostAnswer::Loads {
            loads: loads.into_iter().map(Into::into).collect(),
            demands: targets.map(|targets| targets.demands(self.cluster.clock.monotonic())),
        }
    }

    async fn survey(&self, ranges: &[RangeId]) -> HostAnswer {
        for range in ranges {
            self.serve_soon(*range).await;
        }
        match self.cluster.host.survey(ranges).await {
            Ok(counts) => HostAnswer::Counts { counts },
            Err(why) => HostAnswer::Refused { why: why.into() },
        }
    }

    async fn split_key(&self, range: RangeId) -> HostAnswer {
        self.serve_soon(range).await;
        match self.cluster.host.split_key(range).await {
            Ok(key) => HostAnswer::Key(KeyAnswer { key }),
            Err(why) => HostAnswer::Refused { why: why.into() },
        }
    }

    async fn answer_cut(&self, cut: u64) -> HostAnswer {
        match self.cut(cut).await {
            Ok(pinned) => HostAnswer::Pins {
                pins: pinned.pins.iter().map(ToString::to_string).collect(),
                pause_us: micros(pinned.pause),
            },
            Err(error) => refused(&error),
        }
    }

    async fn change(
        &self,
        record: ChangeRecord,
        new: Vec<RangeSpec>,
        decision: &MapRecord,
    ) -> HostAnswer {
        let old = record.replaced();
        let mut sources = Vec::new();
        for id in &old {
            self.serve_soon(*id).await;
            match self.cluster.map().find(*id) {
                Some(served) => sources.push((*id, served.range.bounds().clone())),
                None => {
                    return HostAnswer::ChangeFailed {
                        why: Refusal::NoSuchRange(id.0),
                        is_closed: true,
                    };
                }
            }
        }
        let new = new.into_iter().map(|spec| NewRange {
            parts: parts(&sources, &spec.bounds),
            spec,
        });
        let change = RangeChange {
            record,
            old,
            new: new.collect(),
        };
        match self.cluster.host.change(&change, decision).await {
            Ok(transit) => HostAnswer::Changed {
                transit_us: micros(transit),
            },
            Err(ChangeFailed { why, leftover }) => HostAnswer::ChangeFailed {
                why: why.into(),
                is_closed: leftover == Leftover::Closed,
            },
        }
    }

    async fn act(&self, range: RangeId, action: RangeAction) -> HostAnswer {
        match self.cluster.host.act(range, action).await {
            Ok(()) => HostAnswer::Done,
            Err(HostError::NoSuchRange(range)) => HostAnswer::Refused {
                why: Refusal::NoSuchRange(range.0),
            },
            Err(error) => refused(&error),
        }
    }
}

/// The parts of old databases that make up a new range.
fn parts(sources: &[(RangeId, Bounds)], new: &Bounds) -> Vec<KeyPart> {
    let common = sources.iter().filter_map(|(source, bounds)| {
        let start = bounds.start.clone().max(new.start.clone());
        let end = match (&bounds.end, &new.end) {
            (Some(one), Some(other)) => Some(one.min(other).clone()),
            (end, None) | (None, end) => end.clone(),
        };
        if end.as_ref().is_some_and(|end| *end <= start) {
            return None;
        }
        let range = keys_within(&Bounds { start, end });
        Some(KeyPart {
            source: *source,
            range,
        })
    });
    common.collect()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn refused(error: &dyn Error) -> HostAnswer {
    HostAnswer::Refused {
        why: ChangeRefused::Failed(error_chain(error)).into(),
    }
}
