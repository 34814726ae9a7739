//! Get Messages. With the header `x-partita-wait-seconds`, an extension of Partita, the request waits for a message.

use super::headers::X_PARTITA_WAIT_SECONDS;
use super::{AuthorizedRequest, Call, Outcome, Refused, find_queue, message};
use hyper::StatusCode;
use partita_queue::{Message, Queue};
use partita_wire::Failure;
use partita_wire::queue::{GetParameters, MessageView};
use std::time::Duration;

/// The longest time that a request may wait, in seconds.
const WAIT_SECONDS_MAX: u64 = 20;

/// The time that is left for the answer after a wait: a request that reached its time limit would hide messages that its
/// client never gets.
const ANSWER_TIME: Duration = Duration::from_secs(5);

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let parameters = GetParameters::parse(request.target.query, call.version())?;
    let wait = wait(call)?;
    let queue = find_queue(call, request).await?;
    let messages = if wait.is_zero() {
        get(call, &queue, &parameters).await?
    } else {
        get_within(call, &queue, &parameters, wait).await?
    };
    Ok(message::reply(
        call,
        StatusCode::OK,
        MessageView::Get,
        &messages,
    ))
}

async fn get(
    call: &Call<'_>,
    queue: &Queue,
    parameters: &GetParameters,
) -> Result<Vec<Message>, Refused> {
    let service = call.service()?;
    let (count, timeout) = (parameters.count, parameters.visibility_timeout);
    Ok(service.get_messages(queue, count, timeout).await?)
}

/// Waits for a message until the time is over, or until this server or the one that forwarded the request shuts down.
async fn get_within(
    call: &Call<'_>,
    queue: &Queue,
    parameters: &GetParameters,
    wait: Duration,
) -> Result<Vec<Message>, Refused> {
    let service = call.service()?;
    let (count, timeout) = (parameters.count, parameters.visibility_timeout);
    let ended = async {
        match &call.head.sender_ended_wait {
            None => call.front.shutdown.requested().await,
            Some(sender_ended_wait) => tokio::select! {
                () = call.front.shutdown.requested() => {}
                () = sender_ended_wait.notified() => {}
            },
        }
    };
    let messages = service.get_messages_within(queue, count, timeout, wait, ended);
    Ok(messages.await?)
}

/// Whether the request may wait. Only the header decides, so that the server that forwards a request and the one that
/// executes it agree.
pub(super) fn waits(call: &Call<'_>) -> bool {
    let headers = &call.head.parts.headers;
    headers.contains_key(&X_PARTITA_WAIT_SECONDS)
}

/// How long the request waits, by its header and within its time limit.
fn wait(call: &Call<'_>) -> Result<Duration, Failure> {
    let Some(text) = call.head.decisive_header(&X_PARTITA_WAIT_SECONDS) else {
        return Ok(Duration::ZERO);
    };
    let seconds = text.trim().parse().ok();
    let seconds = seconds.filter(|seconds| *seconds <= WAIT_SECONDS_MAX);
    let invalid = || Failure::header_value(X_PARTITA_WAIT_SECONDS.as_str(), text);
    let seconds = seconds.ok_or_else(invalid)?;
    let limit = call.head.time_limit().saturating_sub(ANSWER_TIME);
    Ok(Duration::from_secs(seconds).min(limit))
}
