//! Verbs, and the tunnelling of verbs through POST.

use crate::{ErrorCode, Failure};

/// An HTTP method that the service knows.
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

    /// The verb that is meant, given the values of all `X-HTTP-Method` headers (service document "Table Service Error
    /// Codes": XMethodNotUsingPost, XMethodIncorrectCount, XMethodIncorrectValue).
    ///
    /// # Errors
    /// The three codes above.
    pub fn tunnelled<'a>(
        self,
        x_http_method: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        let mut values = x_http_method.into_iter().flat_map(|value| value.split(','));
        let Some(value) = values.next() else {
            return Ok(self);
        };
        if values.next().is_some() {
            return Err(ErrorCode::XMethodIncorrectCount.into());
        }
        if self != Self::Post {
            return Err(ErrorCode::XMethodNotUsingPost.into());
        }
        let tunnelled = [
            ("MERGE", Self::Merge),
            ("PATCH", Self::Patch),
            ("PUT", Self::Put),
            ("DELETE", Self::Delete),
        ];
        let is_value = |name: &str| value.trim().eq_ignore_ascii_case(name);
        let method = tunnelled.into_iter().find(|(name, _)| is_value(name));
        method
            .map(|(_, method)| method)
            .ok_or_else(|| ErrorCode::XMethodIncorrectValue.into())
    }

    /// The verb as sent in a request line.
    #[must_use]
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
