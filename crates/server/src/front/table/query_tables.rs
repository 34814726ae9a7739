//! Query Tables.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use super::headers::NEXT_TABLE_NAME;
use hyper::StatusCode;
use partita_wire::Failure;
use partita_wire::table::{TableWriter, read_table_token, write_table_token};

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let query = request.target.query;
    let (filter, top) = super::page_options(query)?;
    let token = read_table_token(query.get("NextTableName")?.as_deref())?;
    let from = token.as_deref();
    let account = &request.account.name;
    let page = call
        .service()
        .query_tables(account, filter.as_ref(), top, from)
        .await;
    let page = page.map_err(failure::failure)?;
    let (base, mut body) = (
        request.base(call),
        Vec::with_capacity(128 + page.names.len() * 32),
    );
    let writer = TableWriter::new(call.level, &base, account.as_str());
    writer.begin_page(&mut body);
    for (index, name) in page.names.iter().enumerate() {
        writer.row(index == 0, name, &mut body);
    }
    writer.end_page(&mut body);
    let reply = Reply::uncached(StatusCode::OK).body(call.level.content_type(), body);
    Ok(match page.next {
        Some(next) => reply.header(
            NEXT_TABLE_NAME,
            &write_table_token(&next.folded, next.created),
        ),
        None => reply,
    })
}
