//! The observer of a transfer: moves the progress bar, and stops the transfer on request.

use crate::progress::Bar;
use crate::units::count;
use partita_tools::transfer::{Event, Observer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Which rows the progress bar counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedRows {
    /// Rows that were read.
    Read,
    /// Rows that were written or skipped.
    Written,
}

/// The observer of a transfer.
pub(super) struct TransferWatch {
    bar: Bar,
    counts_read: AtomicBool,
    /// Whether the bar counts bytes, because the number of rows is unknown.
    is_of_bytes: AtomicBool,
    rows: AtomicU64,
    /// Rows that the interrupted run wrote.
    rows_before: AtomicU64,
    is_stopped: AtomicBool,
}

impl TransferWatch {
    pub(super) fn new(bar: Bar, rows: CountedRows) -> Arc<Self> {
        Arc::new(Self {
            bar,
            counts_read: AtomicBool::new(rows == CountedRows::Read),
            is_of_bytes: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            rows_before: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// The observer to pass to a transfer.
    pub(super) fn observer(self: &Arc<Self>) -> Arc<dyn Observer> {
        Arc::<Self>::clone(self)
    }

    /// Stops the transfer at the next position where it can be resumed.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Rows that the interrupted run wrote; 0 until they are known, and always 0 for a copy.
    pub(super) fn rows_before(&self) -> u64 {
        self.rows_before.load(Ordering::Relaxed)
    }

    fn add(&self, rows: u64) {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        if !self.is_of_bytes.load(Ordering::Relaxed) {
            self.bar.set_position(rows);
        }
    }
}

impl Observer for TransferWatch {
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
                self.bar.set_position_with(bytes, &format!("  {rows} rows"));
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
