//! Get and Set Table ACL.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_wire::table::POLICY_PERMISSIONS;
use partita_wire::{Failure, read_signed_identifiers, write_signed_identifiers};

pub(super) async fn get(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let table = super::table(call, request, request.table()).await?;
    let mut body = Vec::with_capacity(512);
    write_signed_identifiers(&table.policies, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let name = super::table_name(request)?;
    let policies = read_signed_identifiers(body, POLICY_PERMISSIONS)?;
    let set = call
        .service()
        .set_access_policies(&request.account.name, &name, &policies)
        .await;
    set.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
