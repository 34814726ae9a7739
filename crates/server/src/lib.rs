//! The `server` room; see ARCHITECTURE.md.
