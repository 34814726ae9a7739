//! What the admin port answers to a request that it refuses.

use serde::{Deserialize, Serialize};

/// The body of every refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDocument {
    /// The error.
    pub error: ErrorText,
}

/// An error: a code for programs, a text for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorText {
    /// Such as `NoSplitKey`.
    pub code: String,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// The body of a 404 for a path that no version of the API has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoSuchPage {
    /// `no such page`.
    pub error: String,
    /// The paths that exist.
    pub pages: Vec<String>,
}
