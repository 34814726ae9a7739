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

/// Waits for a message until the time is over or the server shuts down.
async fn get_within(
    call: &Call<'_>,
    queue: &Queue,
    parameters: &GetParameters,
    wait: Duration,
) -> Result<Vec<Message>, Refused> {
    let service = call.service()?;
    let (count, timeout) = (parameters.count, parameters.visibility_timeout);
    tokio::select! {
        biased;
        messages = service.get_messages_within(queue, count, timeout, wait) => Ok(messages?),
        () = call.front.shutdown.requested() => Ok(Vec::new()),
    }
}

/// Whether the request asks to wait.
pub(super) fn waits(call: &Call<'_>) -> bool {
    wait(call).is_ok_and(|wait| !wait.is_zero())
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
