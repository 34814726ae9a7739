//! HTTP methods.

use crate::{ErrorCode, Failure};

/// An HTTP method of the storage services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `MERGE`
    Merge,
    /// `PATCH`, the same as MERGE
    Patch,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
}

impl Method {
    /// Reads the method of a request line. Methods are case-sensitive (RFC 9110).
    ///
    /// # Errors
    /// 400 InvalidHttpVerb.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        match text {
            "GET" => Ok(Self::Get),
            "HEAD" => Ok(Self::Head),
            "POST" => Ok(Self::Post),
            "PUT" => Ok(Self::Put),
            "MERGE" => Ok(Self::Merge),
            "PATCH" => Ok(Self::Patch),
            "DELETE" => Ok(Self::Delete),
            "OPTIONS" => Ok(Self::Options),
            _ => Err(ErrorCode::InvalidHttpVerb.into()),
        }
    }

    /// The verb as sent in a request line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Merge => "MERGE",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}
