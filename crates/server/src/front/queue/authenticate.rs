//! The credentials that only the Queue service has: its forms of Shared Key and of service signatures.

use super::Refused;
use super::call::Call;
use crate::logging::REQUESTS;
use partita_model::QueueName;
use partita_service::Account;
use partita_wire::queue::{Access, QueueSas, Resource, SignedRequest};
use partita_wire::{AccountKeys, Failure, SharedKey, Target};

pub(super) fn by_key(
    call: &Call<'_>,
    target: &Target<'_>,
    shared_key: &SharedKey<'_>,
    keys: &AccountKeys,
) -> Result<Access, Failure> {
    let head = &call.head;
    let headers: Vec<_> = call.headers().collect();
    let signed = SignedRequest {
        method: head.parts.method.as_str(),
        headers: &headers,
        target,
    };
    let verified = signed.verify(shared_key, keys, &head.caller);
    if verified.is_err() {
        tracing::debug!(
            target: REQUESTS,
            request_id = &*head.request_id,
            "the signature does not match the request"
        );
    }
    verified
}

/// The rights of a queue SAS; `None` if they depend on a stored access policy that this server does not have.
pub(super) async fn by_queue_sas(
    call: &Call<'_>,
    target: &Target<'_>,
    account: &Account<AccountKeys>,
    sas: QueueSas<'_>,
) -> Result<Option<Access>, Refused> {
    let resource = Resource::of(target)?;
    let sas = sas.verify(account.name.as_str(), resource.queue(), &account.keys)?;
    let queue = match (sas.policy_id(), QueueName::new(sas.queue())) {
        (Some(_), Ok(name)) => {
            let Some(service) = call.service_here() else {
                return Ok(None);
            };
            Some(service.queue(&account.name, &name).await)
        }
        _ => None,
    };
    let policies = match &queue {
        Some(Ok(queue)) => queue.policies.as_slice(),
        Some(Err(partita_queue::Error::QueueNotFound)) | None => &[],
        Some(Err(error)) => return Err(error.clone().into()),
    };
    Ok(Some(sas.access(&call.head.caller, policies)?))
}
