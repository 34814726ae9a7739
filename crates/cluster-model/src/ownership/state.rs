//! Hosts, managers, etcd and the store.

/// Process lives. Lives 0 and 2 are one process, 1 and 3 another.
pub(super) const LIVES: usize = 4;

/// Numbers in the log of a life.
pub(super) const NUMBERS: usize = 3;

/// A set of writes or of lives.
pub(super) type Set = u8;

/// Whether `set` contains `index`.
pub(super) fn bit(set: Set, index: usize) -> bool {
    set >> index & 1 == 1
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Object {
    Absent,
    /// A group of one write.
    Group(Set),
    Seal,
}

/// How far a life has come with the range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase {
    /// The life has not begun.
    Unborn,
    /// Does nothing with the range.
    Idle,
    Assigned,
    EpochRead,
    Checked,
    Claimed,
    Replayed,
    Flushed,
    Serving,
    /// Takes no more writes, to give the range away.
    Frozen,
    Closed,
    /// Fenced or dead. Only its PUT in flight can still do something.
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Put {
    pub(super) write: Set,
    pub(super) number: usize,
    /// The outcome is known: the group is durable.
    pub(super) learned: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Host {
    pub(super) phase: Phase,
    /// The revision of the range's key that this host acts on.
    pub(super) revision: u8,
    /// The manifest's epoch that it read, then the one that it claimed.
    pub(super) epoch: u8,
    /// The lives whose logs it must replay.
    pub(super) last: Set,
    /// The writes that it can read.
    pub(super) rows: Set,
    pub(super) put: Option<Put>,
    pub(super) next: usize,
    pub(super) alive: bool,
    /// The gate is open: the deadline of the last answered keepalive has not passed.
    pub(super) valid: bool,
}

impl Host {
    pub(super) const UNBORN: Self = Self {
        phase: Phase::Unborn,
        revision: 0,
        epoch: 0,
        last: 0,
        rows: 0,
        put: None,
        next: 0,
        alive: false,
        valid: false,
    };

    pub(super) fn serves(&self) -> bool {
        self.alive && self.phase == Phase::Serving
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Ownership {
    Opening,
    Serving,
    Released,
}

/// `ranges/R` in etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub(super) revision: u8,
    pub(super) owner: usize,
    pub(super) ownership: Ownership,
    /// The lives whose logs can have groups that the data files lack.
    pub(super) last: Set,
}

/// What a manager read before it writes an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Seen {
    pub(super) key: Option<Key>,
    /// Logs that need a replay, when etcd has no key.
    pub(super) dirty: Set,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Manager {
    /// Zero: not elected yet. A manager whose term is over does not know it.
    pub(super) term: u8,
    pub(super) seen: Option<Seen>,
}

/// A read of a client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Read {
    pub(super) life: usize,
    /// The writes that were acknowledged or observed before it began.
    pub(super) must_see: Set,
    pub(super) value: Option<Set>,
    /// A keepalive that was sent after the read began was answered.
    pub(super) confirmed: bool,
}

/// How often each fault and operation has happened. They are part of the state, so that the exploration ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Counts {
    pub(super) writes: u8,
    pub(super) reads: u8,
    pub(super) crashes: u8,
    pub(super) moves: u8,
    pub(super) assignments: u8,
    pub(super) expels: u8,
    pub(super) wipes: u8,
    pub(super) joins: u8,
    pub(super) terms: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    /// etcd: the term of the manager, zero when there is none.
    pub(super) term: u8,
    /// etcd: the leases of the lives.
    pub(super) leases: [bool; LIVES],
    /// etcd: the range's key.
    pub(super) key: Option<Key>,
    pub(super) revision: u8,
    /// The manifest: its epoch, who claimed it, and the writes in data files.
    pub(super) epoch: u8,
    pub(super) holder: usize,
    pub(super) flushed: Set,
    pub(super) logs: [[Object; NUMBERS]; LIVES],
    pub(super) hosts: [Host; LIVES],
    pub(super) managers: [Manager; 2],
    pub(super) read: Option<Read>,
    pub(super) acknowledged: Set,
    pub(super) observed: Set,
    pub(super) counts: Counts,
    pub(super) stale_read: bool,
    pub(super) acknowledged_past_seal: bool,
}

impl State {
    /// Life 0 serves the range, life 1 is idle, and a manager is elected.
    pub(super) fn initial() -> Self {
        let idle = Host {
            phase: Phase::Idle,
            alive: true,
            valid: true,
            ..Host::UNBORN
        };
        let owner = Host {
            phase: Phase::Serving,
            revision: 1,
            epoch: 1,
            ..idle
        };
        Self {
            term: 1,
            leases: [true, true, false, false],
            key: Some(Key {
                revision: 1,
                owner: 0,
                ownership: Ownership::Serving,
                last: 1,
            }),
            revision: 1,
            epoch: 1,
            holder: 0,
            flushed: 0,
            logs: [[Object::Absent; NUMBERS]; LIVES],
            hosts: [owner, idle, Host::UNBORN, Host::UNBORN],
            managers: [
                Manager {
                    term: 1,
                    seen: None,
                },
                Manager {
                    term: 0,
                    seen: None,
                },
            ],
            read: None,
            acknowledged: 0,
            observed: 0,
            counts: Counts {
                terms: 1,
                ..Counts::default()
            },
            stale_read: false,
            acknowledged_past_seal: false,
        }
    }

    /// Whether the range's key still has this revision.
    pub(super) fn key_is(&self, revision: u8) -> bool {
        self.key.is_some_and(|key| key.revision == revision)
    }

    pub(super) fn sealed(&self, life: usize) -> bool {
        self.logs[life].contains(&Object::Seal)
    }

    pub(super) fn has_groups(&self, life: usize) -> bool {
        self.logs[life]
            .iter()
            .any(|object| matches!(object, Object::Group(_)))
    }

    /// The host that serves the range according to etcd and to itself.
    pub(super) fn server(&self) -> Option<usize> {
        let key = self.key.filter(|key| key.ownership == Ownership::Serving)?;
        (self.hosts[key.owner].phase == Phase::Serving).then_some(key.owner)
    }
}
