//! The store, the writer and the heirs.

/// Numbers of the log: the groups, and room for seals after them.
pub(super) const NUMBERS: usize = 7;

/// Whether `set` contains `index`.
pub(super) fn bit(set: u8, index: usize) -> bool {
    set >> index & 1 == 1
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Object {
    #[default]
    Absent,
    Group,
    Seal,
}

/// How far a take-over has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Heir {
    #[default]
    Start,
    /// The list showed no valid seal; `free` is the number to seal.
    Listed {
        free: usize,
    },
    Sealed,
    /// Holds the manifest, which says that the groups `flushed` are in the data files.
    Claimed {
        flushed: u8,
    },
    Done {
        recovered: u8,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct State {
    pub(super) objects: [Object; NUMBERS],
    /// The floor in the header of each group: the lowest number still needed when it was sent.
    pub(super) floors: [usize; NUMBERS],
    /// PUTs that have not landed, and hedged copies of them.
    pub(super) in_flight: u8,
    pub(super) hedges: u8,
    /// Groups whose PUT created the object.
    pub(super) created: u8,
    /// The next number that the writer sends.
    pub(super) next: usize,
    pub(super) acknowledged: u8,
    /// Groups whose rows are in the data files.
    pub(super) flushed: u8,
    /// The writer has seen a seal.
    pub(super) fenced: bool,
    /// The heir that claimed the manifest last.
    pub(super) holder: Option<usize>,
    pub(super) heirs: [Heir; 2],
}

impl State {
    /// The first number that is not acknowledged.
    pub(super) fn first_unacknowledged(&self) -> usize {
        self.acknowledged.trailing_ones() as usize
    }

    /// The floor of the highest group.
    pub(super) fn floor(&self) -> usize {
        (0..NUMBERS)
            .rev()
            .find(|number| self.objects[*number] == Object::Group)
            .map_or(0, |number| self.floors[number])
    }
}
