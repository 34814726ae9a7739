//! Get and Set Table Service Properties.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;
use partita_wire::{ServicePropertiesUpdate, write_service_properties};

pub(super) async fn get(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let properties = call.service()?.service_properties(&request.account.name);
    let mut body = Vec::with_capacity(1024);
    write_service_properties(&properties.await?, &mut body);
    Ok(Reply::new(StatusCode::OK).body("application/xml", body))
}

pub(super) async fn set(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let update = ServicePropertiesUpdate::read(&request.body)?;
    let (service, account) = (call.service()?, &request.account.name);
    let changed = service.change_service_properties(account, |stored| update.apply(stored));
    changed.await?;
    Ok(Reply::new(StatusCode::ACCEPTED))
}
