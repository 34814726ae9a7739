//! Get and Set Table Service Properties.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_wire::{Failure, ServicePropertiesUpdate, write_service_properties};

pub(super) async fn get(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let properties = call
        .front
        .service()
        .service_properties(&asked.account.name)
        .await;
    let mut body = Vec::with_capacity(1024);
    write_service_properties(&properties.map_err(failure::failure)?, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(call: &Call<'_>, asked: &Asked<'_>, body: &[u8]) -> Result<Reply, Failure> {
    let update = ServicePropertiesUpdate::read(body)?;
    let service = call.front.service();
    let changed = service
        .change_service_properties(&asked.account.name, |properties| update.apply(properties))
        .await;
    changed.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::ACCEPTED))
}
