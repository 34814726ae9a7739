//! Get and Set Service Properties, for every service.

use super::protocol::Outcome;
use super::reply::Reply;
use hyper::StatusCode;
use partita_model::AccountName;
use partita_service::AccountProperties;
use partita_wire::{ServicePropertiesUpdate, write_service_properties};

pub(super) async fn get(properties: AccountProperties<'_>, account: &AccountName) -> Outcome {
    let properties = properties.get(account).await?;
    let mut body = Vec::with_capacity(1024);
    write_service_properties(&properties, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(
    properties: AccountProperties<'_>,
    account: &AccountName,
    body: &[u8],
) -> Outcome {
    let update = ServicePropertiesUpdate::read(body)?;
    let changed = properties.change(account, |stored| update.apply(stored));
    changed.await?;
    Ok(Reply::new(StatusCode::ACCEPTED))
}
