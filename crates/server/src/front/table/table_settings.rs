//! Get and Set Table Settings, an extension of ours.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_wire::Failure;
use partita_wire::table::{TableSettings, read_table_settings};

pub(super) async fn get(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let table = super::table(call, asked, asked.table()).await?;
    let settings = TableSettings {
        name: table.name.clone(),
        created: table.created,
        ttl: table.ttl,
    };
    Ok(Reply::new(StatusCode::OK).body("application/json", settings.write()))
}

pub(super) async fn set(call: &Call<'_>, asked: &Asked<'_>, body: &[u8]) -> Result<Reply, Failure> {
    let (name, ttl) = (super::table_name(asked)?, read_table_settings(body)?);
    let set = call
        .front
        .service()
        .set_time_to_live(&asked.account.name, &name, ttl)
        .await;
    set.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
