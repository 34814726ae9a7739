//! The `range` room; see ARCHITECTURE.md.
