//! The `engine` room; see ARCHITECTURE.md.
