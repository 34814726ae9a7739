//! What a transfer says of itself, on a progress bar; and the wish that it stop.

use crate::progress::{Bar, count};
use partita_tools::transfer::{Event, Observer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Which rows are those that are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Those that were read.
    Read,
    /// Those that were written, or passed over.
    Written,
}

/// Sees a transfer.
pub(crate) struct Watch {
    bar: Bar,
    counts_read: AtomicBool,
    /// Whether the bar is one of bytes, because nobody knows how many rows there are.
    is_of_bytes: AtomicBool,
    rows: AtomicU64,
    /// Rows of a run before.
    rows_before: AtomicU64,
    is_stopped: AtomicBool,
}

impl Watch {
    pub(crate) fn new(bar: Bar, done: Done) -> Arc<Self> {
        Arc::new(Self {
            bar,
            counts_read: AtomicBool::new(done == Done::Read),
            is_of_bytes: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            rows_before: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// The same as the transfer takes it.
    pub(crate) fn observer(self: &Arc<Self>) -> Arc<dyn Observer> {
        Arc::<Self>::clone(self)
    }

    /// Asks the transfer to stop.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Rows that a run before had done, as far as that is known.
    pub(crate) fn rows_before(&self) -> u64 {
        self.rows_before.load(Ordering::Relaxed)
    }

    fn add(&self, rows: u64) {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        if !self.is_of_bytes.load(Ordering::Relaxed) {
            self.bar.progress(rows);
        }
    }
}

impl Observer for Watch {
    fn event(&self, event: &Event<'_>) {
        let counts_read = self.counts_read.load(Ordering::Relaxed);
        match *event {
            Event::Input {
                rows: Some(rows), ..
            } => self.bar.show("rows", Some(rows)),
            Event::Input { rows: None, bytes } => {
                self.is_of_bytes.store(true, Ordering::Relaxed);
                self.bar.show_bytes(bytes);
            }
            Event::Position { bytes } => {
                let rows = count(self.rows.load(Ordering::Relaxed));
                self.bar.progress_with(bytes, &format!("  {rows} rows"));
            }
            Event::Converting { rows } => {
                self.counts_read.store(false, Ordering::Relaxed);
                self.rows.store(0, Ordering::Relaxed);
                self.bar.show("rows written", Some(rows));
            }
            Event::Resumed { rows } => {
                self.rows_before.store(rows, Ordering::Relaxed);
                self.add(rows);
            }
            Event::Read { rows, .. } if counts_read => self.add(rows),
            Event::Written { rows, .. } | Event::Skipped { rows } if !counts_read => self.add(rows),
            _ => {}
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}
