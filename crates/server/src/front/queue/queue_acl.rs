//! Get and Set Queue ACL: the stored access policies of a queue.

use super::call::XML;
use super::{AuthorizedRequest, Call, Outcome, Reply, find_queue};
use hyper::StatusCode;
use partita_wire::queue::POLICY_PERMISSIONS;
use partita_wire::{read_signed_identifiers, write_signed_identifiers};

pub(super) async fn get(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let queue = find_queue(call, request).await?;
    let mut body = Vec::with_capacity(512);
    write_signed_identifiers(&queue.policies, &mut body);
    Ok(Reply::new(StatusCode::OK).body(XML, body))
}

pub(super) async fn set(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let policies = read_signed_identifiers(&request.body, POLICY_PERMISSIONS)?;
    let (account, name) = (&request.account.name, request.queue()?);
    let service = call.service()?;
    service
        .set_access_policies(account, name, &policies)
        .await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
