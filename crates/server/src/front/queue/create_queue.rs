//! Create Queue: 201, or 204 if the queue exists with the same metadata.

use super::queue_metadata::metadata_of;
use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;
use partita_queue::Created;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let metadata = metadata_of(call)?;
    let (account, name) = (&request.account.name, request.queue()?);
    let created = call
        .service()?
        .create_queue(account, name, metadata)
        .await?;
    Ok(Reply::new(match created {
        Created::New => StatusCode::CREATED,
        Created::Existed => StatusCode::NO_CONTENT,
    }))
}
