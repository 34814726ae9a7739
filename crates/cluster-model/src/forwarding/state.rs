//! Clients' operations, the front, the network, the hosts and their caches.

/// A set of writes.
pub(super) type Set = u8;

/// Operations of clients, at most.
pub(super) const OPERATIONS: usize = 3;

/// How often a front sends a request within the time that it holds it, at most.
pub(super) const ATTEMPTS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Answer {
    /// Done; a read also has a value.
    Done,
    /// 503: not executed, and never will be.
    Refused,
    /// 500: may have been executed, or may still be.
    Unknown,
}

/// Where an operation is, as its front sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    NotBegun,
    /// The front waits for an owner, and for a map of at least this tenure.
    Held {
        tenure: u8,
    },
    /// The last attempt was sent.
    Sent,
    Answered(Answer),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reply {
    Value(Set),
    Written,
    /// 421: not executed; the owner's map has this tenure.
    NotMine(u8),
    Unknown,
}

/// One sending of a request. It goes on when the front has given it up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Attempt {
    #[default]
    Unsent,
    InFlight {
        tenure: u8,
        host: usize,
    },
    /// A read that has its value, or a write that is submitted to the log.
    Running {
        tenure: u8,
        host: usize,
        value: Set,
    },
    /// The write is durable.
    Durable {
        tenure: u8,
        host: usize,
    },
    Replied(Reply),
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Operation {
    pub(super) stage: Stage,
    pub(super) sent: usize,
    pub(super) attempts: [Attempt; ATTEMPTS],
    /// The writes that were acknowledged or read before it began.
    pub(super) must_see: Set,
    /// The range had one owner ever since the operation began, and nothing broke.
    pub(super) quiet: bool,
    /// How often it was executed.
    pub(super) applied: u8,
}

/// A row in the cache of a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cached {
    pub(super) tenure: u8,
    pub(super) value: Set,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct State {
    /// The tenure that was opened last.
    pub(super) tenure: u8,
    /// The tenure that each host serves.
    pub(super) serving: [Option<u8>; 2],
    pub(super) caches: [Option<Cached>; 2],
    /// The front's map: the tenure that it knows and its owner.
    pub(super) known: (u8, usize),
    pub(super) operations: [Operation; OPERATIONS],
    /// The writes that are in the row.
    pub(super) row: Set,
    pub(super) acknowledged: Set,
    pub(super) observed: Set,
    pub(super) transfers: u8,
    pub(super) stale_read: bool,
}

impl State {
    /// Host 0 serves the first tenure, and the front knows it.
    pub(super) fn initial() -> Self {
        Self {
            tenure: 1,
            serving: [Some(1), None],
            known: (1, 0),
            ..Self::default()
        }
    }

    /// The host that serves.
    pub(super) fn owner(&self) -> Option<usize> {
        self.serving.iter().position(Option::is_some)
    }
}
