//! Error documents of the admin port.

use serde::{Deserialize, Serialize};

/// The body of every error answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDocument {
    /// The error.
    pub error: ErrorText,
}

/// An error: a code for programs, a text for users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorText {
    /// The code, such as `NoSplitKey`.
    pub code: String,
    /// The cause, and what to do about it.
    pub message: String,
}

/// The body of a 404 for an unknown path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoSuchPage {
    /// `no such page`.
    pub error: String,
    /// The paths that exist.
    pub pages: Vec<String>,
}
