//! Update Entity, Merge Entity, Insert Or Replace Entity, Insert Or Merge Entity: PUT and MERGE, with a condition or
//! without.

use super::{AuthorizedRequest, Call, Outcome, Reply, changes, find_table};
use hyper::{StatusCode, header};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let change = changes::on_keys(request)?;
    let table = find_table(call, request, request.table()).await?;
    let changed = call.service()?.change_entity(&table, change).await?;
    let reply = Reply::uncached(StatusCode::NO_CONTENT);
    Ok(match changed.etag {
        Some(etag) => reply.header(header::ETAG, &etag.text()),
        None => reply,
    })
}
