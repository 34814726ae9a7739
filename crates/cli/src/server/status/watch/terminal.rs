//! The terminal in raw mode, on its alternate screen. Dropping it, and a panic, leave it as it was.

use crate::error::CommandError;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::{DefaultTerminal, Frame};
use std::io;
use std::time::Duration;

/// The terminal of a live screen.
pub(super) struct LiveTerminal(DefaultTerminal);

impl LiveTerminal {
    /// Enters the alternate screen. From now on a panic restores the terminal before its message is printed.
    pub(super) fn enter() -> Result<Self, CommandError> {
        ratatui::try_init().map(Self).map_err(CommandError::Output)
    }

    /// Draws the whole screen; only changed cells are written.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), CommandError> {
        let drawn = self.0.draw(draw);
        drawn.map(drop).map_err(CommandError::Output)
    }

    /// The events since the last call: keys, and changes of the terminal's size.
    pub(super) fn events() -> Result<Vec<Event>, CommandError> {
        let mut events = Vec::new();
        while event::poll(Duration::ZERO).map_err(CommandError::Input)? {
            events.push(event::read().map_err(CommandError::Input)?);
        }
        Ok(events)
    }
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        // Errors are ignored, because the terminal may be closed already.
        let _ = execute!(io::stdout(), Show);
        let _ = ratatui::try_restore();
    }
}
