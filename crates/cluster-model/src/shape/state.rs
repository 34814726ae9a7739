//! The partition map, etcd's keys, hosts and managers.

/// Numbers of the map. The last three are kept for a new manager and a decision.
pub(super) const VERSIONS: usize = 8;

/// A set of writes, or of the hosts' lives.
pub(super) type Set = u8;

/// The range that covers everything, and its two halves.
pub(super) const WHOLE: usize = 0;
pub(super) const LEFT: usize = 1;
pub(super) const RIGHT: usize = 2;

/// The writes that a range holds: even ones go to the left half.
pub(super) const WRITES_OF: [Set; 3] = [0b1111, 0b0101, 0b1010];

/// What a map record says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Content {
    /// The ranges before the change.
    Before,
    /// The same, and that a change has begun. The next number is its decision.
    Begun,
    /// The ranges after the change.
    After,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Writer {
    /// A manager in this term. The term is in the record, so that a manager knows its own.
    Manager(u8),
    Host,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Record {
    pub(super) content: Content,
    pub(super) writer: Writer,
}

/// What a manager does. The number is that of the record it acts on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stage {
    Down,
    Elected,
    Listed(usize, Content),
    Confirmed(usize, Content),
    /// Has put a record and must list what lies after it.
    Saved(usize, Content),
    Active(usize, Content),
    /// Has begun a change, which the next number decides.
    Leading(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Manager {
    pub(super) stage: Stage,
    pub(super) term: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KeyState {
    Opening,
    Serving,
    Released,
}

/// `ranges/R` in etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub(super) owner: usize,
    pub(super) revision: u8,
    pub(super) state: KeyState,
    /// The lives whose logs must be replayed.
    pub(super) last: Set,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Phase {
    #[default]
    Closed,
    Assigned,
    Opened,
    Serving,
    /// Takes no writes: a change copies it.
    Frozen,
    /// Flushed, to be released.
    Releasing,
}

/// How far a host has come with a change. The number is that of the decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Change {
    #[default]
    None,
    Frozen(usize),
    Copied(usize),
    Sent(usize),
}

/// The host's PUT of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Decision {
    #[default]
    None,
    InFlight(usize),
    Created,
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ChangeRequest {
    /// The number of the decision.
    pub(super) decision: usize,
    /// The revisions of the keys when it was sent: they name the tenures that are to change.
    pub(super) revisions: [u8; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Put {
    pub(super) range: usize,
    pub(super) write: Set,
    pub(super) durable: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Host {
    pub(super) phases: [Phase; 3],
    pub(super) rows: [Set; 3],
    /// The revision of each range's key that the host acts on.
    pub(super) revisions: [u8; 3],
    pub(super) put: Option<Put>,
    pub(super) change: Change,
    pub(super) decision: Decision,
    pub(super) valid: bool,
    pub(super) leased: bool,
    /// Its log: sealed, and the durable writes of each range.
    pub(super) sealed: bool,
    pub(super) log: [Set; 3],
}

impl Host {
    /// A seal was found in the log: nothing more is served.
    pub(super) fn close_all(&mut self) {
        *self = Self {
            phases: [Phase::Closed; 3],
            put: None,
            change: Change::None,
            ..*self
        };
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Counts {
    pub(super) terms: u8,
    pub(super) writes: u8,
    pub(super) begins: u8,
    pub(super) expiries: u8,
    pub(super) moves: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(super) map: [Option<Record>; VERSIONS],
    /// The term of the elected manager, zero when there is none.
    pub(super) term: u8,
    pub(super) managers: [Manager; 2],
    pub(super) keys: [Option<Key>; 3],
    pub(super) revision: u8,
    /// Writes in the data files of each range.
    pub(super) flushed: [Set; 3],
    pub(super) hosts: [Host; 2],
    /// A manager's request to change the ranges; delivered late or never.
    pub(super) change_request: Option<ChangeRequest>,
    /// A manager's request to give a range away.
    pub(super) move_request: Option<usize>,
    pub(super) acknowledged: Set,
    pub(super) counts: Counts,
}

impl State {
    /// Every range of `ranges` is served by the host that `owners` names, and a manager is active.
    pub(super) fn initial(owners: &[(usize, usize)]) -> Self {
        let mut hosts = [Host {
            valid: true,
            leased: true,
            ..Host::default()
        }; 2];
        let mut keys = [None; 3];
        for (range, owner) in owners {
            hosts[*owner].phases[*range] = Phase::Serving;
            keys[*range] = Some(Key {
                owner: *owner,
                revision: 0,
                state: KeyState::Serving,
                last: 1 << owner,
            });
        }
        let mut map = [None; VERSIONS];
        map[0] = Some(Record {
            content: Content::Before,
            writer: Writer::Manager(1),
        });
        Self {
            map,
            term: 1,
            managers: [
                Manager {
                    stage: Stage::Active(0, Content::Before),
                    term: 1,
                },
                Manager {
                    stage: Stage::Down,
                    term: 0,
                },
            ],
            keys,
            revision: 0,
            flushed: [0; 3],
            hosts,
            change_request: None,
            move_request: None,
            acknowledged: 0,
            counts: Counts {
                terms: 1,
                ..Counts::default()
            },
        }
    }

    /// The newest record and its number.
    pub(super) fn newest(&self) -> (usize, Content) {
        let newest = (0..VERSIONS)
            .rev()
            .find_map(|number| Some((number, self.map[number]?.content)));
        newest.unwrap_or((0, Content::Before))
    }

    /// Put-if-absent of a map record.
    pub(super) fn put(&mut self, number: usize, content: Content, writer: Writer) -> bool {
        let free = self.map[number].is_none();
        if free {
            self.map[number] = Some(Record { content, writer });
        }
        free
    }

    /// Asks the owner of the ranges to change them.
    pub(super) fn request_change(&mut self, decision: usize) {
        let revisions = self.keys.map(|key| key.map_or(0, |key| key.revision));
        self.change_request = Some(ChangeRequest {
            decision,
            revisions,
        });
    }

    /// Whether a host serves the range and its answers pass the gate.
    pub(super) fn answers(&self, host: usize, range: usize) -> bool {
        self.hosts[host].valid && self.hosts[host].phases[range] == Phase::Serving
    }
}
