//! A gauge of what is under way.

use std::sync::atomic::{AtomicI64, Ordering};

/// A guard that keeps a gauge one higher until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Counted<'a>(&'a AtomicI64);

impl<'a> Counted<'a> {
    pub(super) fn new(gauge: &'a AtomicI64) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
