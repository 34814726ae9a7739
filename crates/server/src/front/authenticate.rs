//! Who asks: the credentials of a request, verified.

use super::account::Account;
use super::context::Call;
use super::reply::{CONTENT_MD5, X_MS_DATE, X_MS_VERSION};
use super::table::failure;
use crate::logging::REQUESTS;
use hyper::header;
use partita_model::TableName;
use partita_wire::table::{Access, SignedRequest, TableSas};
use partita_wire::{AccountKeys, Credentials, ErrorCode, Failure, ServiceKind, SharedKey, Target};

/// The account addressed, and what the caller may do in it.
pub(super) async fn authenticate<'r>(
    call: &Call<'r>,
    target: &Target<'r>,
) -> Result<(&'r Account, Access), Failure> {
    let header = call.decisive_header(&header::AUTHORIZATION);
    let credentials = Credentials::parse(header, target.query, call.version)?;
    let account = call
        .front
        .accounts()
        .get(&target.account)
        .ok_or_else(|| Failure::authentication("there is no such account"))?;
    let (name, keys) = (account.name.as_str(), &account.keys);
    let access = match credentials {
        Credentials::SharedKey(shared_key) => by_key(call, target, &shared_key, keys)?,
        Credentials::AccountSas(sas) => {
            Access::account_sas(sas.verify(name, keys, ServiceKind::Table, &call.caller)?)
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
    if call.version.is_none() {
        let missing = Failure::new(ErrorCode::MissingRequiredHeader);
        return Err(missing.detail("HeaderName", X_MS_VERSION.as_str()));
    }
    let date = call
        .decisive_header(&X_MS_DATE)
        .or_else(|| call.header(&header::DATE));
    let signed = SignedRequest {
        method: call.head.method.as_str(),
        content_md5: call.header(&CONTENT_MD5).unwrap_or_default(),
        content_type: call.header(&header::CONTENT_TYPE).unwrap_or_default(),
        date: date.unwrap_or_default(),
        target,
    };
    let verified = signed.verify(shared_key, keys, &call.caller);
    if verified.is_err() {
        tracing::debug!(
            target: REQUESTS, request_id = &*call.request_id, ?signed, "a signature does not fit this request"
        );
    }
    verified
}

async fn by_table_sas(
    call: &Call<'_>,
    account: &Account,
    sas: TableSas<'_>,
) -> Result<Access, Failure> {
    let sas = sas.verify(account.name.as_str(), &account.keys)?;
    let table = match (sas.policy_id(), TableName::new(sas.table())) {
        (Some(_), Ok(name)) => Some(call.front.service().table(&account.name, &name).await),
        _ => None,
    };
    let policies = match &table {
        Some(Ok(table)) => table.policies.as_slice(),
        Some(Err(partita_table::Error::TableNotFound)) | None => &[],
        Some(Err(error)) => return Err(failure::failure(error.clone())),
    };
    sas.access(&call.caller, policies)
}

fn by_token(call: &Call<'_>, token: &str, account: &str) -> Result<Access, Failure> {
    match call.front.bearer() {
        Some(rules) => {
            Access::token(&rules.verify(token, account, ServiceKind::Table, &call.caller)?)
        }
        None => Err(ErrorCode::MissingCredentials.into()),
    }
}
