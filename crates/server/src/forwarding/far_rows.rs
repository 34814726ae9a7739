//! Rows of ranges that other servers serve, over the connections between servers.
//!
//! A request for rows is held and sent by the rules of forwarded requests, but has no client whose time could be over.

use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use partita_engine::Rows;
use partita_peer::forward::{RangeId, Tenure};
use partita_peer::policy::{Action, Event, Kind};
use partita_peer::rows::{
    ExpectedRow, RowChange, RowsAction, RowsAnswer, RowsRequest, decode_rows, encode_changes,
};
use partita_peer::{Answer, Class, Peer, SendError};
use partita_service::{Busy, Error, Expected, FarPage, FarRows, FarWrite, LeasedRow, Storage};

use super::Membership;
use super::membership::{Found, HeldRequest};

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Rows of ranges that other servers serve.
#[derive(Debug)]
pub(crate) struct PeerRows {
    membership: Arc<Membership>,
    /// The storage of this server, for ranges that have just come here.
    own: OnceLock<Weak<Storage>>,
}

/// What is asked of the server of a range.
enum Asked {
    Get(Bytes),
    Lease(Bytes),
    Scan {
        keys: Range<Bytes>,
        rows_max: usize,
        bytes_max: usize,
    },
    Write(Vec<FarWrite>),
}

/// An answer, wherever it comes from.
enum Answered {
    Row(LeasedRow),
    Page(FarPage),
    Written(bool),
}

/// Why a request for rows was not answered.
enum Again {
    /// What happened: another attempt may follow.
    After(Event),
    /// Another attempt is in vain.
    Failed(Error),
}

impl PeerRows {
    pub(crate) fn new(membership: Arc<Membership>) -> Self {
        Self {
            membership,
            own: OnceLock::new(),
        }
    }

    /// Sets the storage of this server. A second call has no effect.
    pub(crate) fn set_own(&self, storage: &Arc<Storage>) {
        self.own.get_or_init(|| Arc::downgrade(storage));
    }

    async fn ask(&self, asked: Asked) -> Result<Answered, Error> {
        let (key, body) = (asked.key(), asked.body());
        let mut held = HeldRequest::of_server(&self.membership, asked.kind(), body.len());
        loop {
            // Before the look at the map, so that no change is missed.
            let changed = self.membership.changed();
            let found = self.membership.find(&key);
            if let Found::Here(_) = found {
                let own = self.own.get().and_then(Weak::upgrade);
                let own = own.ok_or_else(|| Busy::in_transit("the server is stopping"))?;
                return asked.serve(&own).await;
            }
            let mut action = held.step(Event::Map(found.route()));
            if let (Action::Send(_), Found::There(peer, range, tenure)) = (action, found) {
                match send(&peer, (range, tenure), &asked, body.clone()).await {
                    Ok(answered) => {
                        let _answered = held.step(Event::Answered);
                        return Ok(answered);
                    }
                    Err(Again::Failed(error)) => return Err(error),
                    Err(Again::After(event)) => action = held.step(event),
                }
            }
            match action {
                Action::Wait(until) => held.wait(until, changed).await,
                Action::Unknown => return Err(Error::OutcomeUnknown),
                // Only `Refuse` can occur here.
                Action::Refuse | Action::Send(_) | Action::PassOn | Action::Drop => {
                    let why = "no server answers for the range of the row";
                    return Err(Busy::in_transit(why).into());
                }
            }
        }
    }
}

async fn send(
    peer: &Peer,
    (range, tenure): (RangeId, Tenure),
    asked: &Asked,
    body: Bytes,
) -> Result<Answered, Again> {
    let request = RowsRequest {
        range,
        tenure,
        action: asked.action(),
    };
    let sent = peer.send(asked.class(), &request.encode(), body).await;
    let Answer { head, body } = sent.map_err(|error| {
        tracing::debug!(peer = %peer.name(), %error, "a server did not answer for rows");
        Again::After(match error {
            SendError::NotProcessed(_) => Event::NotProcessed,
            SendError::Unknown(_) => Event::Broken,
        })
    })?;
    let answer = RowsAnswer::decode(&head).map_err(|error| malformed(&error))?;
    let body = body.collect(ANSWER_BYTES_MAX).await;
    read_answer(answer, body.map_err(|_| Again::After(Event::Broken))?)
}

/// # Errors
/// [`Again`].
fn read_answer(answer: RowsAnswer<'_>, body: Bytes) -> Result<Answered, Again> {
    match answer {
        RowsAnswer::Row { exists, lease_us } => Ok(Answered::Row(LeasedRow {
            row: exists.then_some(body),
            time: Duration::from_micros(lease_us),
        })),
        RowsAnswer::Page { next } => {
            let rows = decode_rows(&body).map_err(|error| malformed(&error))?;
            Ok(Answered::Page(FarPage {
                rows: rows.into_iter().collect::<Rows>(),
                next: next.map(Bytes::copy_from_slice),
            }))
        }
        RowsAnswer::Written(done) => Ok(Answered::Written(done)),
        RowsAnswer::NotHere(newest) => Err(Again::After(Event::NotHere(newest))),
        RowsAnswer::Busy { reason, detail } => {
            Err(Again::Failed(Busy::of_word(reason, detail).into()))
        }
        RowsAnswer::TooLarge => Err(Again::Failed(Error::TooLarge)),
        RowsAnswer::Unknown => Err(Again::After(Event::Broken)),
        RowsAnswer::Corrupt(text) => Err(Again::Failed(Error::Corrupt(text.into()))),
    }
}

fn malformed(error: &dyn std::error::Error) -> Again {
    tracing::warn!(%error, "a server sent a malformed answer for rows");
    Again::After(Event::Broken)
}

impl Asked {
    /// The key whose range is asked.
    fn key(&self) -> Bytes {
        match self {
            Self::Get(key) | Self::Lease(key) => key.clone(),
            Self::Scan { keys, .. } => keys.start.clone(),
            Self::Write(changes) => changes
                .first()
                .map_or_else(Bytes::new, |change| change.key.clone()),
        }
    }

    fn action(&self) -> RowsAction<'_> {
        match self {
            Self::Get(key) => RowsAction::Get { key },
            Self::Lease(key) => RowsAction::Lease { key },
            Self::Scan {
                keys,
                rows_max,
                bytes_max,
            } => RowsAction::Scan {
                start: &keys.start,
                end: &keys.end,
                rows_max: u32::try_from(*rows_max).unwrap_or(u32::MAX),
                bytes_max: u32::try_from(*bytes_max).unwrap_or(u32::MAX),
            },
            Self::Write(_) => RowsAction::Write,
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Get(_) | Self::Lease(_) | Self::Scan { .. } => Kind::Read,
            Self::Write(_) => Kind::Write,
        }
    }

    const fn class(&self) -> Class {
        match self {
            Self::Get(_) | Self::Lease(_) => Class::Small,
            Self::Scan { .. } | Self::Write(_) => Class::Bulk,
        }
    }

    fn body(&self) -> Bytes {
        let Self::Write(changes) = self else {
            return Bytes::new();
        };
        let changes = changes.iter().map(|change| RowChange {
            key: change.key.clone(),
            expected: match &change.expected {
                Expected::Any => ExpectedRow::Any,
                Expected::Absent => ExpectedRow::Absent,
                Expected::Row(row) => ExpectedRow::Row(row.clone()),
            },
            row: change.row.clone(),
        });
        encode_changes(&changes.collect::<Vec<_>>())
    }

    /// Executes it in this server.
    async fn serve(self, storage: &Storage) -> Result<Answered, Error> {
        Ok(match self {
            Self::Get(key) => Answered::Row(LeasedRow {
                row: storage.serve_get(&key).await?,
                time: Duration::ZERO,
            }),
            Self::Lease(key) => Answered::Row(storage.serve_lease(&key).await?),
            Self::Scan {
                keys,
                rows_max,
                bytes_max,
            } => Answered::Page(storage.serve_scan(keys, rows_max, bytes_max).await?),
            Self::Write(changes) => Answered::Written(storage.serve_write(changes).await?),
        })
    }
}

#[async_trait]
impl FarRows for PeerRows {
    async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        match self.ask(Asked::Get(key.clone())).await? {
            Answered::Row(leased) => Ok(leased.row),
            Answered::Page(_) | Answered::Written(_) => Err(Error::OutcomeUnknown),
        }
    }

    async fn lease(&self, key: &Bytes) -> Result<LeasedRow, Error> {
        match self.ask(Asked::Lease(key.clone())).await? {
            Answered::Row(leased) => Ok(leased),
            Answered::Page(_) | Answered::Written(_) => Err(Error::OutcomeUnknown),
        }
    }

    async fn scan(
        &self,
        keys: Range<Bytes>,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<FarPage, Error> {
        let asked = Asked::Scan {
            keys,
            rows_max,
            bytes_max,
        };
        match self.ask(asked).await? {
            Answered::Page(page) => Ok(page),
            Answered::Row(_) | Answered::Written(_) => Err(Error::OutcomeUnknown),
        }
    }

    async fn write(&self, changes: Vec<FarWrite>) -> Result<bool, Error> {
        match self.ask(Asked::Write(changes)).await? {
            Answered::Written(done) => Ok(done),
            Answered::Row(_) | Answered::Page(_) => Err(Error::OutcomeUnknown),
        }
    }

    fn range_end(&self, key: &Bytes) -> Option<Bytes> {
        self.membership.range_end(key).map(Bytes::from)
    }
}
