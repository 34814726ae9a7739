//! Activation of planted bugs, for this crate and those above it.
//!
//! Compiled only with the feature `planted-bugs`, which only `cargo harness bugs` builds.

use std::sync::Once;

use fail::{FailScenario, fail_point};

/// Whether the environment variable `FAILPOINTS` activates this bug.
pub fn is_active(bug: &str) -> bool {
    static SETUP: Once = Once::new();
    // Dropping the scenario would deactivate the bugs.
    SETUP.call_once(|| std::mem::forget(FailScenario::setup()));
    fail_point!(bug, |_| true);
    false
}
