//! Query Tables: one page, in the order of names.

use super::headers::NEXT_TABLE_NAME;
use super::{AuthorizedRequest, Call, Outcome, Reply, page_options};
use hyper::StatusCode;
use partita_wire::table::{TableWriter, read_table_token, write_table_token};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (query, account) = (request.target.query, &request.account.name);
    let (filter, top) = page_options(query)?;
    let from = read_table_token(query.get("NextTableName")?.as_deref())?;
    let service = call.service()?;
    let querying = service.query_tables(account, filter.as_ref(), top, from.as_deref());
    let page = querying.await?;
    let base = request.base(&call.head);
    let writer = TableWriter::new(call.level, &base, account.as_str());
    let mut body = Vec::with_capacity(128 + page.names.len() * 32);
    writer.begin_page(&mut body);
    for (index, name) in page.names.iter().enumerate() {
        writer.row(index == 0, name, &mut body);
    }
    writer.end_page(&mut body);
    let reply = Reply::uncached(StatusCode::OK).body(call.level.content_type(), body);
    let Some(next) = page.next else {
        return Ok(reply);
    };
    let token = write_table_token(&next.folded, next.created);
    Ok(reply.header(NEXT_TABLE_NAME, &token))
}
