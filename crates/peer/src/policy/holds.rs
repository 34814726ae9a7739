//! The requests that a front holds.

/// The maximum number of requests that a front holds.
pub const HELD_REQUESTS_MAX: usize = 4096;

/// The maximum size of their bodies in bytes.
pub const HELD_BYTES_MAX: usize = 64 << 20;

/// Counts the requests that a front holds. Over a limit, a request is refused at once instead of held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    requests: usize,
    bytes: usize,
}

impl Holds {
    /// The number of held requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// The size of their bodies in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a place, if there is one.
    pub(super) fn enter(&mut self, bytes: usize) -> bool {
        let has_room =
            self.requests < HELD_REQUESTS_MAX && self.bytes.saturating_add(bytes) <= HELD_BYTES_MAX;
        if has_room {
            self.requests += 1;
            self.bytes += bytes;
        }
        has_room
    }

    /// Gives a place back.
    pub(super) fn leave(&mut self, bytes: usize) {
        self.requests -= 1;
        self.bytes -= bytes;
    }
}
