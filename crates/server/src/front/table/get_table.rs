//! Query Tables for one name.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_model::TableName;
use partita_table::Error;
use partita_wire::Failure;
use partita_wire::table::TableWriter;

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let missing = || failure::failure(Error::NoSuchTable);
    let name = TableName::new(asked.table()).map_err(|_| missing())?;
    let table = match call.front.service().table(&asked.account.name, &name).await {
        Err(Error::TableNotFound) => return Err(missing()),
        found => found.map_err(failure::failure)?,
    };
    let (base, mut body) = (asked.base(call.front), Vec::with_capacity(256));
    TableWriter::new(call.level, &base, asked.account.name.as_str()).single(&table.name, &mut body);
    Ok(Reply::of_tables(StatusCode::OK).body(call.level.content_type(), body))
}
