//! The credentials of a request, verified.

use super::protocol::Exchange;
use super::refused::Refused;
use super::reply::X_MS_VERSION;
use super::request_head::RequestHead;
use hyper::header;
use partita_model::SignedIdentifier;
use partita_service::Account;
use partita_wire::{
    Access, AccountKeys, Credentials, ErrorCode, Failure, Target, TokenRoles, VerifiedSas,
    challenged,
};

/// The account addressed, and the caller's rights in it; no rights if they depend on a stored access policy that this
/// server does not have.
pub(super) async fn authenticate<'r, E: Exchange<'r>>(
    call: &E,
    target: &Target<'r>,
) -> Result<(&'r Account<AccountKeys>, Option<Access<E::Rules>>), Refused> {
    let head = call.head();
    let authorization = head.decisive_header(&header::AUTHORIZATION);
    let credentials = Credentials::<E::Sas>::parse(authorization, target.query, head.version)?;
    let account = head.front.parts.accounts.get(&target.account);
    let account = account.ok_or_else(|| Failure::authentication("account not found"))?;
    let (name, keys) = (account.name.as_str(), &account.keys);
    let access = match credentials {
        Credentials::SharedKey(shared_key) => {
            if head.version.is_none() {
                let missing = Failure::new(ErrorCode::MissingRequiredHeader);
                return Err(missing.detail("HeaderName", X_MS_VERSION.as_str()).into());
            }
            call.verify_key(target, &shared_key, keys)?
        }
        Credentials::AccountSas(sas) => {
            Access::account_sas(sas.verify(name, keys, E::SERVICE, &head.caller)?)
        }
        Credentials::ServiceSas(sas) => {
            let sas = E::verify_sas(target, account, sas)?;
            return Ok((account, access_of_sas(call, account, &sas).await?));
        }
        Credentials::Bearer(token) => Access::token(&verify_token::<E>(head, token, name)?)?,
    };
    Ok((account, Some(access)))
}

/// The rights of a SAS of a table or queue; `None` if they depend on a stored access policy that this server does not
/// have.
async fn access_of_sas<'r, E: Exchange<'r>>(
    call: &E,
    account: &Account<AccountKeys>,
    sas: &VerifiedSas<'_, E::Rules>,
) -> Result<Option<Access<E::Rules>>, Refused> {
    let access = |policies: &[SignedIdentifier]| sas.access(&call.head().caller, policies);
    let access = match sas.policy_id() {
        None => Some(access(&[])),
        Some(_) => {
            let container = sas.container();
            call.with_policies(&account.name, container, access).await?
        }
    };
    Ok(access.transpose()?)
}

fn verify_token<'r, E: Exchange<'r>>(
    head: &RequestHead<'_>,
    token: &str,
    account: &str,
) -> Result<TokenRoles, Failure> {
    let rules = head.front.parts.bearer.as_ref().ok_or_else(|| {
        challenged(
            head.version,
            "Authentication scheme Bearer is not supported.",
        )
    })?;
    rules.verify(token, account, E::SERVICE, &head.caller, head.version)
}
