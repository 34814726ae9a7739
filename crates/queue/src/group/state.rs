//! What a queue keeps in memory between groups.

use super::window::Window;
use crate::rows::Header;
use bytes::Bytes;
use partita_model::MessagePosition;

/// The header and the window of a queue, as of the last commit of this process.
#[derive(Debug)]
pub(super) struct State {
    pub(super) header: Header,
    /// The stored row of the header, to be compared with the current one.
    pub(super) header_row: Option<Bytes>,
    pub(super) window: Window,
    /// While a walk looks for expired messages: the earliest expiry (ticks) of the messages written since it began. A
    /// walk may miss a message that moves from behind the rows that it has read to before them.
    pub(super) written_expiry: Option<u64>,
}

impl State {
    /// The state of a queue with this header. The window is empty and ends at the first message.
    pub(super) const fn new(header: Header, header_row: Option<Bytes>) -> Self {
        Self {
            window: Window::new(header.first),
            header,
            header_row,
            written_expiry: None,
        }
    }

    /// The row of the header for the commit of a group.
    pub(super) fn next_header(&mut self) -> Bytes {
        self.header.changes += 1;
        self.header.first = self.window.first_position();
        let row = self.header.encode();
        self.header_row = Some(row.clone());
        row
    }

    /// Whether the window has all messages that are visible at a time, given a position after these.
    pub(super) fn has_all_before(&self, position: MessagePosition) -> bool {
        self.window.end() >= position
    }
}
