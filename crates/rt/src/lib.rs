//! The `rt` room; see ARCHITECTURE.md.
