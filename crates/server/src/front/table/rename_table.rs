//! Rename Table, an extension of ours.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_model::TableName;
use partita_wire::Failure;
use partita_wire::table::read_rename;

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>, body: &[u8]) -> Result<Reply, Failure> {
    let from = super::table_name(asked)?;
    let to = TableName::new(&read_rename(body)?).map_err(failure::table_name)?;
    let renamed = call
        .front
        .service()
        .rename_table(&asked.account.name, &from, &to)
        .await;
    renamed.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
