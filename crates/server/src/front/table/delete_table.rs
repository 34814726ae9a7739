//! Delete Table.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_model::TableName;
use partita_table::Error;
use partita_wire::Failure;

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    // A name that no table can have is not found either.
    let name = TableName::new(asked.table()).map_err(|_| failure::failure(Error::NoSuchTable))?;
    let deleted = call
        .front
        .service()
        .delete_table(&asked.account.name, &name)
        .await;
    deleted.map_err(failure::failure)?;
    Ok(Reply::of_tables(StatusCode::NO_CONTENT))
}
