//! Get and Set Table ACL: the stored access policies of a table.

use super::{AuthorizedRequest, Call, Outcome, Reply, find_table};
use hyper::StatusCode;
use partita_wire::table::POLICY_PERMISSIONS;
use partita_wire::{read_signed_identifiers, write_signed_identifiers};

pub(super) async fn get(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let table = find_table(call, request, request.table()).await?;
    let mut body = Vec::with_capacity(512);
    write_signed_identifiers(&table.policies, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (name, account) = (request.table_name()?, &request.account.name);
    let policies = read_signed_identifiers(&request.body, POLICY_PERMISSIONS)?;
    let service = call.service()?;
    service
        .set_access_policies(account, &name, &policies)
        .await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
