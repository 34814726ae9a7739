//! Create Table: answers with the table's JSON, or with 204 if the client prefers that.

use super::headers::DATA_SERVICE_ID;
use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::{StatusCode, header};
use partita_model::TableName;
use partita_wire::table::{Prefer, TableWriter, read_table_name, table_url};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let account = &request.account.name;
    let name = TableName::new(&read_table_name(&request.body)?)?;
    call.service()?.create_table(account, &name).await?;
    let base = request.base(&call.head);
    let url = table_url(&base, name.as_str());
    let reply = |status| Reply::uncached(status).header(header::LOCATION, &url);
    if call.prefer == Some(Prefer::ReturnNoContent) {
        return Ok(reply(StatusCode::NO_CONTENT).header(DATA_SERVICE_ID, &url));
    }
    let mut body = Vec::with_capacity(256);
    TableWriter::new(call.level, &base, account.as_str()).single(name.as_str(), &mut body);
    Ok(reply(StatusCode::CREATED).body(call.level.content_type(), body))
}
