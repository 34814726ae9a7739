//! Get and Set Queue Service Properties.

use super::super::service_properties;
use super::{AuthorizedRequest, Call, Outcome};

pub(super) async fn get(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let properties = call.service()?.properties();
    service_properties::get(properties, &request.account.name).await
}

pub(super) async fn set(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let properties = call.service()?.properties();
    service_properties::set(properties, &request.account.name, &request.body).await
}
