//! Query Tables.

use super::super::context::{Asked, Call};
use super::super::failure;
use super::super::reply::{NEXT_TABLE_NAME, Reply};
use hyper::StatusCode;
use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_wire::{Failure, TableToken, TableWriter, parse_filter, parse_top};

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let query = asked.target.query;
    query.check_options()?;
    let filter = query
        .get("$filter")?
        .map(|text| parse_filter(&text))
        .transpose()?;
    let top = query
        .get("$top")?
        .map_or(Ok(PAGE_ENTITIES_MAX), |text| parse_top(&text))?;
    let token = TableToken::parse(query.get("NextTableName")?.as_deref())?;
    let from = token.as_ref().map(|token| token.folded_name.as_str());
    let account = &asked.account.name;
    let page = call
        .front
        .service()
        .query_tables(account, filter.as_ref(), top, from)
        .await;
    let page = page.map_err(failure::failure)?;
    let (base, mut body) = (
        asked.base(call.front),
        Vec::with_capacity(128 + page.names.len() * 32),
    );
    let writer = TableWriter::new(call.level, &base, account.as_str());
    writer.begin_page(&mut body);
    for (index, name) in page.names.iter().enumerate() {
        writer.row(index == 0, name, &mut body);
    }
    writer.end_page(&mut body);
    let reply = Reply::of_tables(StatusCode::OK).body(call.level.content_type(), body);
    Ok(match page.next {
        Some(next) => {
            let token = TableToken {
                folded_name: next.folded,
            };
            reply.header(NEXT_TABLE_NAME, &token.text(next.created))
        }
        None => reply,
    })
}
