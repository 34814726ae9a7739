//! Query Entities.

use super::super::context::{Asked, Call};
use super::super::reply::{NEXT_PARTITION_KEY, NEXT_ROW_KEY, Reply, X_PARTITA_EXPLAIN};
use super::explain;
use super::failure;
use hyper::StatusCode;
use partita_table::{Page, Query, Table};
use partita_wire::Failure;
use partita_wire::table::{EntityWriter, Select, read_entity_token, write_entity_token};

/// A row of a page takes about this many bytes of JSON, until its size is known.
const ROW_BYTES: usize = 256;

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let query = asked.target.query;
    let (filter, top) = super::page_options(query)?;
    let select = query
        .get("$select")?
        .map(|text| Select::parse(&text))
        .transpose()?;
    let from = read_entity_token(
        query.get("NextPartitionKey")?.as_deref(),
        query.get("NextRowKey")?.as_deref(),
    )?;
    let table = super::table(call, asked, asked.table()).await?;
    let query = Query {
        filter: filter.as_ref(),
        top,
        from: from.as_ref(),
        allowed: asked.access.range(),
        row_bytes_more: select.as_ref().map_or(0, Select::null_bytes),
    };
    let page = call
        .front
        .service()
        .query_entities(&table, query)
        .await
        .map_err(failure::failure)?;
    let body = write_page(call, asked, &table, &page, select.as_ref())?;
    let mut reply = Reply::of_tables(StatusCode::OK).body(call.level.content_type(), body);
    reply.entities = page.rows.len() as u64;
    if explain::is_asked(call) {
        let text = explain::page(call.front.service(), &table, &page);
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
    asked: &Asked<'_>,
    table: &Table,
    page: &Page,
    select: Option<&Select>,
) -> Result<Vec<u8>, Failure> {
    let base = asked.base(call.front);
    let writer = EntityWriter::new(&asked.entity_format(call.level, &base, table, select));
    // Stored rows are a little smaller than their JSON.
    let stored: usize = page
        .rows
        .iter()
        .map(|row| row.value.len() + row.key.len() + ROW_BYTES)
        .sum();
    let mut body = Vec::with_capacity(stored + ROW_BYTES);
    writer.begin_page(&mut body);
    for (index, row) in page.rows.iter().enumerate() {
        let entity = row.entity(&table.space).map_err(failure::failure)?;
        writer
            .row(index == 0, &entity, &mut body)
            .map_err(|error| failure::failure(error.into()))?;
    }
    writer.end_page(&mut body);
    Ok(body)
}
