//! A writer with two PUTs in flight: it leaves holes, which the sealer must handle before the WAL itself has several.

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::FuturesUnordered;
use object_store::PutPayload;

use super::super::super::group::{PendingGroup, Position};
use super::super::super::planted::keeps;
use super::super::super::requests::{CreateError, Created};
use super::*;

/// A group in flight, or one that was created: its number, range, record and floor.
#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    range: RangeId,
    id: WalId,
    floor: u64,
}

/// The writer's side of the log.
struct Log<'r> {
    run: &'r Run,
    requests: &'r Requests,
    sent: Vec<Sent>,
    created: Vec<u64>,
    /// Every number below was acknowledged.
    acknowledged_below: u64,
    acknowledged_floor: u64,
    deleted_below: u64,
}

/// Writes groups from number 1 on, with up to two PUTs in flight, until the log is fenced. Flushes and deletes between.
pub(super) async fn write(run: &Run, requests: &Requests) {
    let mut log = Log {
        run,
        requests,
        sent: Vec::new(),
        created: Vec::new(),
        acknowledged_below: 1,
        acknowledged_floor: 0,
        deleted_below: 0,
    };
    let mut flying = FuturesUnordered::new();
    while (log.sent.len() as u64) < GROUPS {
        run.pause(4).await;
        flying.push(log.send());
        if flying.len() == 2 {
            match flying.next().await {
                Some((sent, Ok(Created::Own))) => log.finish(sent),
                _ => return,
            }
        }
        if run.chance(40) {
            log.flush();
            log.delete().await;
        }
    }
}

type Outcome = (Sent, Result<Created, CreateError>);

impl<'r> Log<'r> {
    /// Sends the next group, of the two ranges in turn.
    fn send(&mut self) -> BoxFuture<'r, Outcome> {
        let number = self.sent.len() as u64 + 1;
        let range = RANGES[(number % 2) as usize];
        let id = WalId(number.div_ceil(2));
        let floor = self.floor(number);
        let sent = Sent {
            number,
            range,
            id,
            floor,
        };
        self.sent.push(sent);
        let header = RecordHeader {
            range,
            wal_id: id,
            seq: id.0,
        };
        let mut group = PendingGroup::new(LIFE);
        group.room_bytes = u64::MAX;
        let rows = [row("k", "v")];
        let lent = &mut rows.iter().map(crate::Row::as_ref);
        group.add(header, size(&rows), lent).unwrap();
        let object = PutPayload::from_iter(group.encode(Position {
            number,
            floor,
            created_below: self.acknowledged_below,
        }));
        let requests = self.requests;
        async move {
            let path = LIFE.path(number);
            let created = requests.create(&path, object, group.nonce).await;
            (sent, created)
        }
        .boxed()
    }

    /// The lowest number that is needed.
    fn floor(&self, number: u64) -> u64 {
        if !keeps(Rule::FloorOfAcknowledged) {
            return number;
        }
        let shared = self.run.shared.lock();
        let unflushed = |sent: &&Sent| {
            shared
                .flushed
                .get(&sent.range)
                .is_none_or(|it| *it < sent.id)
        };
        let needed = self.sent.iter().find(unflushed);
        needed
            .map_or(number, |sent| sent.number)
            .min(self.acknowledged_below)
    }

    /// Acknowledges what was created: in order, or at once.
    fn finish(&mut self, sent: Sent) {
        self.created.push(sent.number);
        while self.created.contains(&self.acknowledged_below) {
            self.acknowledged_below += 1;
        }
        let acknowledged: Vec<Sent> = if keeps(Rule::AcknowledgedInOrder) {
            let below = |it: &&Sent| it.number < self.acknowledged_below;
            self.sent.iter().filter(below).copied().collect()
        } else {
            vec![sent]
        };
        {
            let mut shared = self.run.shared.lock();
            for it in acknowledged {
                let last = shared.acknowledged.entry(it.range).or_default();
                *last = it.id.max(*last);
                self.acknowledged_floor = it.floor.max(self.acknowledged_floor);
            }
        }
        self.run.check("after an acknowledgement");
    }

    /// Flushes a range, unless an heir holds the manifest.
    fn flush(&self) {
        let range = RANGES[usize::from(self.run.chance(50))];
        let mut shared = self.run.shared.lock();
        if let (None, Some(last)) = (shared.holder, shared.acknowledged.get(&range)) {
            let last = *last;
            shared.flushed.insert(range, last);
        }
    }

    async fn delete(&mut self) {
        let released = self.deleted_below..self.acknowledged_floor;
        let paths = released.map(|number| LIFE.path(number)).collect();
        let _ = self.requests.delete(paths).await;
        self.deleted_below = self.acknowledged_floor;
    }
}
