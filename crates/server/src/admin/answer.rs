//! An answer of the admin API: a status and a document of `partita_wire::admin`.

use hyper::StatusCode;
use partita_wire::admin::{ErrorDocument, ErrorText};
use serde::Serialize;

/// A status and a document as JSON text.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) json: String,
}

impl Answer {
    /// A document with status 200.
    pub(super) fn ok(document: &impl Serialize) -> Self {
        Self::new(StatusCode::OK, document)
    }

    /// A document with any status.
    pub(super) fn new(status: StatusCode, document: &impl Serialize) -> Self {
        let mut json = serde_json::to_string_pretty(document)
            .expect("documents are structures of text and numbers with text as keys");
        json.push('\n');
        Self { status, json }
    }

    /// A refusal: a code for programs, a text for people.
    pub(super) fn refused(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let error = ErrorText {
            code: code.to_owned(),
            message: message.into(),
        };
        Self::new(status, &ErrorDocument { error })
    }

    /// 400 `InvalidBody`.
    pub(super) fn invalid_body(message: impl Into<String>) -> Self {
        Self::refused(StatusCode::BAD_REQUEST, "InvalidBody", message)
    }

    /// 400 `InvalidQuery`.
    pub(super) fn invalid_query(message: impl Into<String>) -> Self {
        Self::refused(StatusCode::BAD_REQUEST, "InvalidQuery", message)
    }

    /// 503 `Busy`: the names of tables cannot be read now.
    pub(super) fn busy(error: &dyn std::error::Error) -> Self {
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", error.to_string())
    }

    /// 503 `Failed`: an action did not succeed.
    pub(super) fn failed(error: impl std::fmt::Display) -> Self {
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, "Failed", error.to_string())
    }
}
