//! Finds the resource and the operation of a request.
//!
//! [`Resource::of`] reads the path, [`tunnelled_method`] finds the intended method, [`Operation::of`] combines both.
//! These steps are separate, so that a server can authenticate between them and report errors in the order of the
//! service: first authentication, then URL and headers. They do not check whether an account or a table exists.

use super::error::method_not_allowed;
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
    /// The operation of a request. `method` is the intended one, see [`tunnelled_method`].
    ///
    /// # Errors
    /// 405 MethodNotAllowed; 400 InvalidQueryParameterValue for an unknown `comp` or `restype`, MissingRequiredHeader
    /// for a delete without `If-Match`; 403 InsufficientAccountPermissions for a write to the secondary; 501
    /// NotImplemented for the service document.
    pub fn of(
        target: &Target<'_>,
        method: Method,
        resource: &Resource<'_>,
        has_if_match: bool,
    ) -> Result<Self, Failure> {
        if method == Method::Options {
            return Ok(Self::Preflight);
        }
        let operation = match resource {
            Resource::Service => on_service(target, method)?,
            Resource::Entities(_) if target.query.has("comp") => on_table(target, method)?,
            other => on_rows(method, other, has_if_match)
                .ok_or_else(|| method_not_allowed(other.allow()))?,
        };
        let names_entity = matches!(resource, Resource::Entity { .. });
        if operation == Self::DeleteEntity && names_entity && !has_if_match {
            return Err(
                Failure::new(ErrorCode::MissingRequiredHeader).detail("HeaderName", "If-Match")
            );
        }
        if target.secondary && operation.is_write() {
            return Err(Failure::write_to_secondary());
        }
        Ok(operation)
    }
}

/// The intended method, from the values of all `X-HTTP-Method` headers (service document "Table Service Error Codes":
/// XMethodNotUsingPost, XMethodIncorrectCount, XMethodIncorrectValue).
///
/// # Errors
/// The three codes above.
pub fn tunnelled_method<'a>(
    sent: Method,
    x_http_method: impl IntoIterator<Item = &'a str>,
) -> Result<Method, Failure> {
    let mut values = x_http_method.into_iter().flat_map(|value| value.split(','));
    let Some(value) = values.next() else {
        return Ok(sent);
    };
    if values.next().is_some() {
        return Err(ErrorCode::XMethodIncorrectCount.into());
    }
    if sent != Method::Post {
        return Err(ErrorCode::XMethodNotUsingPost.into());
    }
    let tunnelled = [Method::Merge, Method::Patch, Method::Put, Method::Delete];
    tunnelled
        .into_iter()
        .find(|method| value.trim().eq_ignore_ascii_case(method.name()))
        .ok_or_else(|| ErrorCode::XMethodIncorrectValue.into())
}

/// The operation on the service itself.
fn on_service(target: &Target<'_>, method: Method) -> Result<Operation, Failure> {
    let Some(comp) = target.query.get("comp")? else {
        // The service document: no client requests it (docs/compat.md).
        return Err(ErrorCode::NotImplemented.into());
    };
    let restype = target.query.get("restype")?.unwrap_or_default();
    if !restype.eq_ignore_ascii_case("service") {
        return Err(Failure::query_parameter("restype", &restype));
    }
    let is = |name: &str| comp.eq_ignore_ascii_case(name);
    match method {
        Method::Get if is("properties") => Ok(Operation::GetTableServiceProperties),
        Method::Put if is("properties") => Ok(Operation::SetTableServiceProperties),
        Method::Get if is("stats") && target.secondary => Ok(Operation::GetTableServiceStats),
        Method::Get if is("stats") => Err(Failure::query_parameter("comp", &comp)),
        _ if is("properties") => Err(method_not_allowed("GET, PUT")),
        _ if is("stats") => Err(method_not_allowed("GET")),
        _ => Err(Failure::query_parameter("comp", &comp)),
    }
}

/// The operation on a table itself; `comp` names it.
fn on_table(target: &Target<'_>, method: Method) -> Result<Operation, Failure> {
    use Operation as O;
    let comp = target.query.get("comp")?.unwrap_or_default();
    let (operation, allow) = match (comp.to_ascii_lowercase().as_str(), method) {
        ("acl", Method::Get | Method::Head) => (Some(O::GetTableAcl), ""),
        ("acl", Method::Put) => (Some(O::SetTableAcl), ""),
        ("acl", _) => (None, "GET, HEAD, PUT"),
        ("partita-settings", Method::Get) => (Some(O::GetTableSettings), ""),
        ("partita-settings", Method::Put) => (Some(O::SetTableSettings), ""),
        ("partita-settings", _) => (None, "GET, PUT"),
        ("partita-rename", Method::Post) => (Some(O::RenameTable), ""),
        ("partita-truncate", Method::Post) => (Some(O::TruncateTable), ""),
        ("partita-rename" | "partita-truncate", _) => (None, "POST"),
        _ => return Err(Failure::query_parameter("comp", &comp)),
    };
    operation.ok_or_else(|| method_not_allowed(allow))
}

/// The operation on tables, entities or a batch; `None` if the resource does not support the method.
fn on_rows(method: Method, resource: &Resource<'_>, has_if_match: bool) -> Option<Operation> {
    use Operation as O;
    match (resource, method) {
        (Resource::Tables, Method::Get) => Some(O::QueryTables),
        (Resource::Tables, Method::Post) => Some(O::CreateTable),
        (Resource::Table(_), Method::Get) => Some(O::GetTable),
        (Resource::Table(_), Method::Delete) => Some(O::DeleteTable),
        (Resource::Entities(_), Method::Get) => Some(O::QueryEntities),
        (Resource::Entities(_), Method::Post) => Some(O::InsertEntity),
        (Resource::Entity { .. }, Method::Get) => Some(O::GetEntity),
        (Resource::Entity { .. }, Method::Delete) => Some(O::DeleteEntity),
        (Resource::Entity { .. }, Method::Put) if has_if_match => Some(O::UpdateEntity),
        (Resource::Entity { .. }, Method::Put) => Some(O::InsertOrReplaceEntity),
        (Resource::Entity { .. }, Method::Merge | Method::Patch) if has_if_match => {
            Some(O::MergeEntity)
        }
        (Resource::Entity { .. }, Method::Merge | Method::Patch) => Some(O::InsertOrMergeEntity),
        (Resource::Batch, Method::Post) => Some(O::EntityGroupTransaction),
        // These operations are not executed. They only determine which permissions the request needs before it is
        // refused.
        (Resource::BelowTable { .. }, Method::Get) => Some(O::QueryEntities),
        (Resource::BelowTable { .. }, Method::Post) => Some(O::InsertEntity),
        (Resource::BelowTable { .. }, Method::Delete) => Some(O::DeleteEntity),
        (Resource::BelowTable { .. }, Method::Put) => Some(O::InsertOrReplaceEntity),
        (Resource::BelowTable { .. }, Method::Merge | Method::Patch) => {
            Some(O::InsertOrMergeEntity)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
