//! An answer of the admin API: a status and a document of `partita_wire::admin`.

use hyper::StatusCode;
use partita_wire::admin::{ErrorDocument, ErrorText};
use serde::Serialize;

/// The answer of a page, or why it is refused.
pub(super) type Answered = Result<Answer, Answer>;

/// A status and a document as JSON text.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) json: String,
}

impl Answer {
    /// A document with status 200.
    pub(super) fn ok(document: &impl Serialize) -> Answered {
        Ok(Self::new(StatusCode::OK, document))
    }

    /// A document with any status.
    pub(super) fn new(status: StatusCode, document: &impl Serialize) -> Self {
        let mut json = serde_json::to_string_pretty(document).expect("all keys are text");
        json.push('\n');
        Self { status, json }
    }

    /// A refusal, with a code for programs and a text for the operator.
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

    /// 404 with a code that names the missing thing.
    pub(super) fn not_found(code: &str, message: impl Into<String>) -> Self {
        Self::refused(StatusCode::NOT_FOUND, code, message)
    }

    /// 503 `Failed`: an action did not succeed.
    pub(super) fn failed(error: impl std::fmt::Display) -> Self {
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, "Failed", error.to_string())
    }
}
