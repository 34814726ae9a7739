//! The `model` room; see ARCHITECTURE.md.
