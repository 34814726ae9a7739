//! Get and Set Table Settings, an extension of Partita.

use super::{AuthorizedRequest, Call, Outcome, Reply, find_table};
use hyper::StatusCode;
use partita_wire::table::{TableSettings, read_table_settings};

pub(super) async fn get(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let table = find_table(call, request, request.table()).await?;
    let settings = TableSettings {
        name: table.name.clone(),
        created: table.created,
        ttl: table.ttl,
    };
    Ok(Reply::new(StatusCode::OK).body("application/json", settings.write()))
}

pub(super) async fn set(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (name, account) = (request.table_name()?, &request.account.name);
    let ttl = read_table_settings(&request.body)?;
    call.service()?
        .set_time_to_live(account, &name, ttl)
        .await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
