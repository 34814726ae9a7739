//! Get and Set Queue Metadata. All of it is in headers.

use super::headers::APPROXIMATE_MESSAGES_COUNT;
use super::{AuthorizedRequest, Call, Outcome, Reply, find_queue};
use hyper::StatusCode;
use hyper::header::HeaderName;
use partita_model::Metadata;
use partita_wire::Failure;
use partita_wire::queue::{metadata_headers, read_metadata};
use std::borrow::Cow;

pub(super) async fn get(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let queue = find_queue(call, request).await?;
    let count = call.service()?.message_count(&queue).await?;
    let reply = Reply::new(StatusCode::OK).header(APPROXIMATE_MESSAGES_COUNT, &count.to_string());
    let add = |reply: Reply, (name, value): (String, &str)| match HeaderName::try_from(&name) {
        Ok(header) => {
            if let Some(spellings) = call.head.spellings {
                spellings.send(&name);
            }
            reply.header(header, value)
        }
        // Only names that came in a header are stored.
        Err(_) => reply,
    };
    Ok(metadata_headers(&queue.metadata).fold(reply, add))
}

pub(super) async fn set(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let metadata = metadata_of(call)?;
    let (account, name) = (&request.account.name, request.queue()?);
    let service = call.service()?;
    service.set_queue_metadata(account, name, metadata).await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}

/// The metadata in the headers of the request, with names as the client wrote them.
pub(super) fn metadata_of(call: &Call<'_>) -> Result<Metadata, Failure> {
    let spelled = |name| call.head.spellings?.received(name).map(Cow::Owned);
    let headers = call.headers();
    let headers =
        headers.map(|(name, value)| (spelled(name).unwrap_or(Cow::Borrowed(name)), value));
    let headers: Vec<_> = headers.collect();
    read_metadata(headers.iter().map(|(name, value)| (&**name, *value)))
}
