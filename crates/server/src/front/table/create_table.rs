//! Create Table.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use super::headers::DATA_SERVICE_ID;
use hyper::{StatusCode, header};
use partita_model::TableName;
use partita_wire::Failure;
use partita_wire::table::{Prefer, TableWriter, read_table_name, table_url};

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let name = TableName::new(&read_table_name(body)?).map_err(failure::table_name)?;
    let created = call
        .service()
        .create_table(&request.account.name, &name)
        .await;
    created.map_err(failure::failure)?;
    let base = request.base(call);
    let url = table_url(&base, name.as_str());
    if call.prefer == Some(Prefer::ReturnNoContent) {
        let reply = Reply::uncached(StatusCode::NO_CONTENT).header(header::LOCATION, &url);
        return Ok(reply.header(DATA_SERVICE_ID, &url));
    }
    let mut body = Vec::with_capacity(256);
    TableWriter::new(call.level, &base, request.account.name.as_str())
        .single(name.as_str(), &mut body);
    let reply = Reply::uncached(StatusCode::CREATED).header(header::LOCATION, &url);
    Ok(reply.body(call.level.content_type(), body))
}
