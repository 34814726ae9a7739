//! Preflight Queue Request.

use super::super::cors;
use super::{Call, Outcome};
use partita_wire::Target;

pub(super) async fn run(call: &Call<'_>, target: &Target<'_>) -> Outcome {
    let account = cors::account(&call.head, target)?;
    let properties = call.service()?.service_properties(&account.name).await?;
    Ok(cors::preflight(&call.head, &properties.cors)?)
}
