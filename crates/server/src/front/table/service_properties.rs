//! Get and Set Table Service Properties.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_wire::{Failure, ServicePropertiesUpdate, write_service_properties};

pub(super) async fn get(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let properties = call
        .service()
        .service_properties(&request.account.name)
        .await;
    let mut body = Vec::with_capacity(1024);
    write_service_properties(&properties.map_err(failure::failure)?, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let update = ServicePropertiesUpdate::read(body)?;
    let service = call.service();
    let changed = service
        .change_service_properties(&request.account.name, |properties| update.apply(properties))
        .await;
    changed.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::ACCEPTED))
}
