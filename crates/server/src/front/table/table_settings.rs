//! Get and Set Table Settings, an extension of Partita.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_wire::Failure;
use partita_wire::table::{TableSettings, read_table_settings};

pub(super) async fn get(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let table = super::table(call, request, request.table()).await?;
    let settings = TableSettings {
        name: table.name.clone(),
        created: table.created,
        ttl: table.ttl,
    };
    Ok(Reply::new(StatusCode::OK).body("application/json", settings.write()))
}

pub(super) async fn set(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let (name, ttl) = (super::table_name(request)?, read_table_settings(body)?);
    let set = call
        .service()
        .set_time_to_live(&request.account.name, &name, ttl)
        .await;
    set.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
