//! The credentials of a request, verified.

use super::super::reply::{CONTENT_MD5, X_MS_DATE, X_MS_VERSION};
use super::call::Call;
use super::failure::Refused;
use crate::logging::REQUESTS;
use hyper::header;
use partita_model::TableName;
use partita_service::Account;
use partita_wire::table::{Access, SignedRequest, TableSas};
use partita_wire::{
    AccountKeys, Credentials, ErrorCode, Failure, ServiceKind, SharedKey, Target, challenged,
};

const SERVICE: ServiceKind = ServiceKind::Table;

/// The account addressed, and the caller's rights in it.
pub(super) async fn authenticate<'r>(
    call: &Call<'r>,
    target: &Target<'r>,
) -> Result<(&'r Account<AccountKeys>, Access), Refused> {
    let head = &call.head;
    let authorization = head.decisive_header(&header::AUTHORIZATION);
    let credentials = Credentials::parse(authorization, target.query, head.version)?;
    let account = head.front.parts.accounts.get(&target.account);
    let account = account.ok_or_else(|| Failure::authentication("account not found"))?;
    let (name, keys) = (account.name.as_str(), &account.keys);
    let access = match credentials {
        Credentials::SharedKey(shared_key) => by_key(call, target, &shared_key, keys)?,
        Credentials::AccountSas(sas) => {
            Access::account_sas(sas.verify(name, keys, SERVICE, &head.caller)?)
        }
        Credentials::ServiceSas(sas) => by_table_sas(call, account, sas).await?,
        Credentials::Bearer(token) => by_token(call, token, name)?,
    };
    Ok((account, access))
}

fn by_key(
    call: &Call<'_>,
    target: &Target<'_>,
    shared_key: &SharedKey<'_>,
    keys: &AccountKeys,
) -> Result<Access, Failure> {
    let head = &call.head;
    if head.version.is_none() {
        let missing = Failure::new(ErrorCode::MissingRequiredHeader);
        return Err(missing.detail("HeaderName", X_MS_VERSION.as_str()));
    }
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

async fn by_table_sas(
    call: &Call<'_>,
    account: &Account<AccountKeys>,
    sas: TableSas<'_>,
) -> Result<Access, Refused> {
    let sas = sas.verify(account.name.as_str(), &account.keys)?;
    let table = match (sas.policy_id(), TableName::new(sas.table())) {
        (Some(_), Ok(name)) => Some(call.service().table(&account.name, &name).await),
        _ => None,
    };
    let policies = match &table {
        Some(Ok(table)) => table.policies.as_slice(),
        Some(Err(partita_table::Error::TableNotFound)) | None => &[],
        Some(Err(error)) => return Err(error.clone().into()),
    };
    Ok(sas.access(&call.head.caller, policies)?)
}

fn by_token(call: &Call<'_>, token: &str, account: &str) -> Result<Access, Failure> {
    let head = &call.head;
    let rules = head.front.parts.bearer.as_ref().ok_or_else(|| {
        challenged(
            head.version,
            "Authentication scheme Bearer is not supported.",
        )
    })?;
    Access::token(&rules.verify(token, account, SERVICE, &head.caller, head.version)?)
}
