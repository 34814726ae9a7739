//! Create Table.

use super::super::context::{Asked, Call};
use super::super::reply::{DATA_SERVICE_ID, Reply};
use super::failure;
use hyper::{StatusCode, header};
use partita_model::TableName;
use partita_wire::Failure;
use partita_wire::table::{Prefer, TableWriter, read_table_name, table_url};

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>, body: &[u8]) -> Result<Reply, Failure> {
    let name = TableName::new(&read_table_name(body)?).map_err(failure::table_name)?;
    let created = call
        .front
        .service()
        .create_table(&asked.account.name, &name)
        .await;
    created.map_err(failure::failure)?;
    let base = asked.base(call.front);
    let url = table_url(&base, name.as_str());
    if call.prefer == Some(Prefer::ReturnNoContent) {
        let reply = Reply::of_tables(StatusCode::NO_CONTENT).header(header::LOCATION, &url);
        return Ok(reply.header(DATA_SERVICE_ID, &url));
    }
    let mut body = Vec::with_capacity(256);
    TableWriter::new(call.level, &base, asked.account.name.as_str())
        .single(name.as_str(), &mut body);
    let reply = Reply::of_tables(StatusCode::CREATED).header(header::LOCATION, &url);
    Ok(reply.body(call.level.content_type(), body))
}
