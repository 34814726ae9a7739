//! The credentials that only the Table service has: its forms of Shared Key and of service signatures.

use super::super::reply::{CONTENT_MD5, X_MS_DATE};
use super::Refused;
use super::call::Call;
use crate::logging::REQUESTS;
use hyper::header;
use partita_model::TableName;
use partita_service::Account;
use partita_wire::table::{Access, SignedRequest, TableSas};
use partita_wire::{AccountKeys, Failure, SharedKey, Target};

pub(super) fn by_key(
    call: &Call<'_>,
    target: &Target<'_>,
    shared_key: &SharedKey<'_>,
    keys: &AccountKeys,
) -> Result<Access, Failure> {
    let head = &call.head;
    let date = head
        .decisive_header(&X_MS_DATE)
        .or_else(|| head.header(&header::DATE));
    let signed = SignedRequest {
        method: head.parts.method.as_str(),
        content_md5: head.header(&CONTENT_MD5).unwrap_or_default(),
        content_type: head.header(&header::CONTENT_TYPE).unwrap_or_default(),
        date: date.unwrap_or_default(),
        target,
    };
    let verified = signed.verify(shared_key, keys, &head.caller);
    if verified.is_err() {
        tracing::debug!(
            target: REQUESTS,
            request_id = &*head.request_id,
            ?signed,
            "the signature does not match the request"
        );
    }
    verified
}

/// The rights of a table SAS; `None` if they depend on a stored access policy that this server does not have.
pub(super) async fn by_table_sas(
    call: &Call<'_>,
    account: &Account<AccountKeys>,
    sas: TableSas<'_>,
) -> Result<Option<Access>, Refused> {
    let sas = sas.verify(account.name.as_str(), &account.keys)?;
    let table = match (sas.policy_id(), TableName::new(sas.table())) {
        (Some(_), Ok(name)) => {
            let Some(service) = call.service_here() else {
                return Ok(None);
            };
            Some(service.table(&account.name, &name).await)
        }
        _ => None,
    };
    let policies = match &table {
        Some(Ok(table)) => table.policies.as_slice(),
        Some(Err(partita_table::Error::TableNotFound)) | None => &[],
        Some(Err(error)) => return Err(error.clone().into()),
    };
    Ok(Some(sas.access(&call.head.caller, policies)?))
}
