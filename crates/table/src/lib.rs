//! The `table` room; see ARCHITECTURE.md.
