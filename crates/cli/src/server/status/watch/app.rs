//! What the screen shows, and what keys change.

use super::history::{ErrorHistory, ServerHistory, WINDOW};
use super::{Sample, Update};
use crate::args::admin_port::flag_for;
use partita_tools::admin::{AdminError, AdminPort};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::time::Instant;

/// Lines that a page key scrolls.
const PAGE_LINES: usize = 10;

/// A list below the sparklines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Hottest,
    Ranges,
    Advice,
    Server,
}

impl View {
    pub(super) const ALL: [Self; 4] = [Self::Hottest, Self::Ranges, Self::Advice, Self::Server];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hottest => "hottest",
            Self::Ranges => "ranges",
            Self::Advice => "advice",
            Self::Server => "server",
        }
    }

    /// The view `by` places further, in a circle.
    fn moved(self, by: usize) -> Self {
        let at = (self as usize + by) % Self::ALL.len();
        Self::ALL.get(at).copied().unwrap_or(self)
    }
}

/// The state of the screen.
#[derive(Default)]
pub(super) struct App {
    pub(super) admin: String,
    /// The flag of the admin port for printed commands.
    pub(super) admin_flag: String,
    /// The newest sample; `None` before the first one.
    pub(super) sample: Option<Sample>,
    /// Requests a second between the last two samples.
    pub(super) rate_now: Option<f64>,
    pub(super) history: ServerHistory,
    pub(super) history_at: Option<Instant>,
    pub(super) errors: ErrorHistory,
    /// Why the last sample could not be taken; the other values are those of the last answer.
    pub(super) failure: Option<String>,
    pub(super) view: View,
    /// The first line of the view on the screen.
    pub(super) scroll: usize,
    pub(super) is_paused: bool,
    pub(super) has_help: bool,
}

impl App {
    pub(super) fn new(port: &AdminPort) -> Self {
        Self {
            admin: port.to_string(),
            admin_flag: flag_for(port),
            ..Self::default()
        }
    }

    /// Shows an update, unless the screen is paused.
    pub(super) fn update(&mut self, taken: Result<Update, AdminError>) {
        if self.is_paused {
            return;
        }
        match taken {
            Ok(Update { sample, history }) => {
                let at = Instant::from_std(sample.at);
                self.rate_now = sample.rate_since(self.sample.as_ref());
                self.errors.add(at, &sample.status.document);
                if let Some(history) = history {
                    self.history = history;
                    self.history_at = Some(at);
                }
                self.sample = Some(sample);
                self.failure = None;
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    /// Whether the server has closed a window since its history was read.
    pub(super) fn needs_history(&self) -> bool {
        let at = self.history_at;
        !self.is_paused && at.is_none_or(|at| at.elapsed() >= WINDOW)
    }

    /// Does what an event asks for. Returns whether it ends the command.
    pub(super) fn has_quit(&mut self, event: &Event) -> bool {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.press(*key),
            _ => false,
        }
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        let is_interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_interrupt => return true,
            KeyCode::Char('q') => return true,
            KeyCode::Esc if self.has_help => self.has_help = false,
            KeyCode::Esc => return true,
            KeyCode::Char('?' | 'h') => self.has_help = !self.has_help,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Tab | KeyCode::Right => self.show(self.view.moved(1)),
            KeyCode::BackTab | KeyCode::Left => self.show(self.view.moved(View::ALL.len() - 1)),
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll += PAGE_LINES,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE_LINES),
            KeyCode::Home => self.scroll = 0,
            KeyCode::Char(digit @ '1'..='4') => {
                let number = digit as usize - '1' as usize;
                self.show(View::Hottest.moved(number));
            }
            _ => {}
        }
        false
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::tests::app;
    use super::*;

    fn press(app: &mut App, code: KeyCode) -> bool {
        app.has_quit(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    #[test]
    fn keys_change_the_view_and_quit() {
        let mut app = app();
        assert!(!press(&mut app, KeyCode::Tab));
        assert_eq!(app.view, View::Ranges);
        press(&mut app, KeyCode::Down);
        press(&mut app, KeyCode::PageDown);
        assert_eq!(app.scroll, 11);
        press(&mut app, KeyCode::Left);
        press(&mut app, KeyCode::Left);
        assert_eq!((app.view, app.scroll), (View::Server, 0));
        press(&mut app, KeyCode::Char('3'));
        assert_eq!(app.view, View::Advice);
        press(&mut app, KeyCode::Char('?'));
        assert!(app.has_help);
        assert!(!press(&mut app, KeyCode::Esc));
        assert!(!app.has_help);
        assert!(press(&mut app, KeyCode::Esc) && press(&mut app, KeyCode::Char('q')));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(app.has_quit(&Event::Key(interrupt)));
        assert!(!press(&mut app, KeyCode::Char('c')));
    }

    #[test]
    fn a_paused_screen_does_not_change() {
        let mut app = app();
        press(&mut app, KeyCode::Char('p'));
        app.update(Err(AdminError::Url("gone".to_owned())));
        assert_eq!(app.failure, None);
        assert!(!app.needs_history());
        press(&mut app, KeyCode::Char('p'));
        app.update(Err(AdminError::Url("gone".to_owned())));
        assert!(app.failure.is_some() && app.needs_history());
    }
}
