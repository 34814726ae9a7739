//! Query Entities: one page, with a continuation token where more rows may follow.

use super::super::answer_body::{AnswerBody, BodyWriter};
use super::headers::{NEXT_PARTITION_KEY, NEXT_ROW_KEY, X_PARTITA_EXPLAIN};
use super::{
    AuthorizedRequest, Call, Outcome, Refused, Reply, explain, find_table, find_table_if_any,
    page_options,
};
use bytes::Bytes;
use hyper::StatusCode;
use partita_model::{EntityPosition, Filter};
use partita_table::{Error, Page, Query, RowData, Service, Table};
use partita_wire::Failure;
use partita_wire::table::{EntityWriter, Select, read_entity_token, write_entity_token};

/// Estimated bytes of JSON of a row in addition to the stored bytes.
const ROW_BYTES: usize = 256;

/// The options of a query.
struct Options {
    filter: Option<Filter>,
    top: usize,
    select: Option<Select>,
    from: Option<EntityPosition>,
}

impl Options {
    fn read(request: &AuthorizedRequest<'_>) -> Result<Self, Failure> {
        let query = request.target.query;
        let (filter, top) = page_options(query)?;
        let select = query.get("$select")?;
        let select = select.as_deref().map(Select::parse).transpose()?;
        let from = read_entity_token(
            query.get("NextPartitionKey")?.as_deref(),
            query.get("NextRowKey")?.as_deref(),
        )?;
        Ok(Self {
            filter,
            top,
            select,
            from,
        })
    }

    fn query<'a>(&'a self, request: &'a AuthorizedRequest<'_>) -> Query<'a> {
        Query {
            filter: self.filter.as_ref(),
            top: self.top,
            from: self.from.as_ref(),
            allowed: request.own.access.range(),
            row_bytes_more: self.select.as_ref().map_or(0, Select::null_bytes),
        }
    }
}

/// The first key that the page reads; `None` if the query is refused.
pub(super) async fn place(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Option<Bytes>, Refused> {
    let Ok(options) = Options::read(request) else {
        return Ok(None);
    };
    let table = find_table_if_any(call, request).await?;
    Ok(table.map(|table| Service::place_of_query(&table, &options.query(request))))
}

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let options = Options::read(request)?;
    let table = find_table(call, request, request.table()).await?;
    let (query, select) = (options.query(request), options.select.as_ref());
    let page = call.service()?.query_entities(&table, query).await?;
    let body = write_page(call, request, &table, &page, select)?;
    let mut reply = Reply::uncached(StatusCode::OK).pieces(call.level.content_type(), body);
    reply.entities = page.rows.len() as u64;
    if explain::is_requested(call) {
        let text = explain::page(call.service()?, &table, &page);
        reply = reply.header(X_PARTITA_EXPLAIN, &text);
    }
    let Some(next) = page.next else {
        return Ok(reply);
    };
    let token = write_entity_token(&next);
    let reply = reply.header(NEXT_PARTITION_KEY, &token.next_partition_key);
    Ok(match token.next_row_key {
        Some(text) => reply.header(NEXT_ROW_KEY, &text),
        None => reply,
    })
}

fn write_page(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    table: &Table,
    page: &Page,
    select: Option<&Select>,
) -> Result<AnswerBody, Refused> {
    let base = request.base(&call.head);
    let writer = EntityWriter::new(&request.entity_format(call.level, &base, table, select));
    // Stored rows are a little smaller than their JSON.
    let json_bytes = |row: &RowData| row.value.len() + row.key.len() + ROW_BYTES;
    let expected = page.rows.iter().map(json_bytes).sum::<usize>() + ROW_BYTES;
    let memory = &call.head.front.parts.memory;
    let mut body = BodyWriter::new(memory, expected).map_err(Error::from)?;
    writer.begin_page(body.buffer());
    for (index, row) in page.rows.iter().enumerate() {
        body.make_room(json_bytes(row)).map_err(Error::from)?;
        let entity = row.entity(&table.space)?;
        writer.row(index == 0, &entity, body.buffer())?;
    }
    writer.end_page(body.buffer());
    Ok(body.finish().map_err(Error::from)?)
}
