//! Finds the resource and the operation of a request.
//!
//! [`Resource::of`] reads the path, [`Operation::of`] combines it with method and query. These steps are separate, so
//! that a server can authenticate between them: first authentication, then URL and headers. They do not check whether an
//! account or a queue exists, nor the queue's name.

use super::{Operation, Resource};
use crate::{ErrorCode, Failure, Method, Target};

impl<'a> Resource<'a> {
    /// Parses the resource in the path of a target.
    ///
    /// # Errors
    /// The errors of [`Resource::parse`].
    pub fn of(target: &Target<'a>) -> Result<Self, Failure> {
        Self::parse(target.resource_path())
    }
}

impl Operation {
    /// The operation of a request.
    ///
    /// # Errors
    /// 405 UnsupportedHttpVerb; 400 InvalidQueryParameterValue for an unknown or missing `comp`, an unknown `restype` or
    /// `peekonly`; 403 InsufficientAccountPermissions for a write to the secondary.
    pub fn of(
        target: &Target<'_>,
        method: Method,
        resource: &Resource<'_>,
    ) -> Result<Self, Failure> {
        if method == Method::Options {
            return Ok(Self::Preflight);
        }
        let operation = match resource {
            Resource::Service => on_service(target, method)?,
            Resource::Queue(_) => on_queue(target, method)?,
            Resource::Messages(_) => on_messages(target, method)?,
            Resource::Message { .. } => on_message(method),
        };
        let operation = operation.ok_or_else(|| unsupported_verb(resource.allow()))?;
        if target.secondary && operation.is_write() {
            return Err(Failure::write_to_secondary());
        }
        Ok(operation)
    }
}

/// The operation on the service itself; `None` if it does not support the method.
fn on_service(target: &Target<'_>, method: Method) -> Result<Option<Operation>, Failure> {
    use Operation as O;
    let comp = target.query.get("comp")?.unwrap_or_default();
    let restype = target.query.get("restype")?;
    match (comp.to_ascii_lowercase().as_str(), method) {
        ("list", Method::Get) => Ok(Some(O::ListQueues)),
        ("list", _) => Err(unsupported_verb("GET")),
        ("properties" | "stats", _)
            if !restype
                .as_deref()
                .is_some_and(|restype| restype.eq_ignore_ascii_case("service")) =>
        {
            let restype = restype.unwrap_or_default();
            Err(Failure::query_parameter("restype", &restype))
        }
        ("properties", Method::Get) => Ok(Some(O::GetQueueServiceProperties)),
        ("properties", Method::Put) => Ok(Some(O::SetQueueServiceProperties)),
        ("stats", Method::Get) if target.secondary => Ok(Some(O::GetQueueServiceStats)),
        ("stats", Method::Get) => Err(Failure::query_parameter("comp", &comp)),
        ("stats", _) => Err(unsupported_verb("GET")),
        ("properties", _) => Ok(None),
        _ => Err(Failure::query_parameter("comp", &comp)),
    }
}

/// The operation on a queue itself; `None` if it does not support the method.
fn on_queue(target: &Target<'_>, method: Method) -> Result<Option<Operation>, Failure> {
    use Operation as O;
    let comp = target.query.get("comp")?.unwrap_or_default();
    match (comp.to_ascii_lowercase().as_str(), method) {
        ("", Method::Put) => Ok(Some(O::CreateQueue)),
        ("", Method::Delete) => Ok(Some(O::DeleteQueue)),
        ("metadata", Method::Get | Method::Head) => Ok(Some(O::GetQueueMetadata)),
        ("metadata", Method::Put) => Ok(Some(O::SetQueueMetadata)),
        ("acl", Method::Get | Method::Head) => Ok(Some(O::GetQueueAcl)),
        ("acl", Method::Put) => Ok(Some(O::SetQueueAcl)),
        ("metadata" | "acl", _) => Err(unsupported_verb("GET, HEAD, PUT")),
        ("", Method::Post | Method::Merge | Method::Patch | Method::Options) => Ok(None),
        // A queue is read only through `comp`.
        _ => Err(Failure::query_parameter("comp", &comp)),
    }
}

/// The operation on the messages of a queue; `None` if they do not support the method.
fn on_messages(target: &Target<'_>, method: Method) -> Result<Option<Operation>, Failure> {
    Ok(match method {
        Method::Get if peeks(target)? => Some(Operation::PeekMessages),
        Method::Get => Some(Operation::GetMessages),
        Method::Post => Some(Operation::PutMessage),
        Method::Delete => Some(Operation::ClearMessages),
        Method::Head | Method::Put | Method::Merge | Method::Patch | Method::Options => None,
    })
}

/// The operation on a message; `None` if it does not support the method.
const fn on_message(method: Method) -> Option<Operation> {
    match method {
        Method::Put => Some(Operation::UpdateMessage),
        Method::Delete => Some(Operation::DeleteMessage),
        _ => None,
    }
}

/// The value of `peekonly`; false without it.
fn peeks(target: &Target<'_>) -> Result<bool, Failure> {
    match target.query.get("peekonly")? {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(Failure::query_parameter("peekonly", &text)),
    }
}

/// 405 UnsupportedHttpVerb, with the methods that are allowed.
fn unsupported_verb(allow: &'static str) -> Failure {
    let mut failure = Failure::new(ErrorCode::UnsupportedHttpVerb);
    failure.allow = Some(allow);
    failure
}

#[cfg(test)]
mod tests;
