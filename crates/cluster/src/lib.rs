//! The `cluster` room; see ARCHITECTURE.md.
