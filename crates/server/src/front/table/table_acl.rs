//! Get and Set Table ACL.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_wire::table::POLICY_PERMISSIONS;
use partita_wire::{Failure, read_signed_identifiers, write_signed_identifiers};

pub(super) async fn get(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let table = super::table(call, asked, asked.table()).await?;
    let mut body = Vec::with_capacity(512);
    write_signed_identifiers(&table.policies, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(call: &Call<'_>, asked: &Asked<'_>, body: &[u8]) -> Result<Reply, Failure> {
    let name = super::table_name(asked)?;
    let policies = read_signed_identifiers(body, POLICY_PERMISSIONS)?;
    let set = call
        .front
        .service()
        .set_access_policies(&asked.account.name, &name, &policies)
        .await;
    set.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
