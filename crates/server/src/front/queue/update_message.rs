//! Update Message: a new visibility timeout, and a new text if the request has a body.

use super::headers::{POP_RECEIPT, TIME_NEXT_VISIBLE};
use super::{AuthorizedRequest, Call, Outcome, Refused, Reply, find_queue, message};
use hyper::StatusCode;
use partita_queue::{Error, UpdateMessage};
use partita_wire::http_date;
use partita_wire::queue::{UpdateParameters, read_message, visibility_after_expiry};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let parameters = UpdateParameters::parse(request.target.query, call.version())?;
    let text = match request.body.is_empty() {
        true => None,
        false => Some(read_message(&request.body)?.into()),
    };
    let update = UpdateMessage {
        message: message::message_of(request, &parameters.pop_receipt)?,
        visibility_timeout: parameters.visibility_timeout,
        text,
    };
    let queue = find_queue(call, request).await?;
    let updated = call.service()?.update_message(&queue, update).await;
    let updated = updated.map_err(|error| match error {
        Error::VisibilityAfterExpiry => {
            visibility_after_expiry(parameters.visibility_timeout.as_secs()).into()
        }
        error => Refused::from(error),
    })?;
    let next_visible = http_date(updated.next_visible);
    Ok(Reply::new(StatusCode::NO_CONTENT)
        .header(POP_RECEIPT, &updated.receipt.to_string())
        .header(TIME_NEXT_VISIBLE, &next_visible))
}
