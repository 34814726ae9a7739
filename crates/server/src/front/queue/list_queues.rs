//! List Queues: one page, in the order of names.

use super::call::XML;
use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;
use partita_wire::queue::{ListParameters, QueueListWriter};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let account = &request.account.name;
    let parameters = ListParameters::parse(request.target.query, account.as_str())?;
    let (prefix, first) = (parameters.prefix.as_deref(), parameters.first.as_deref());
    let service = call.service()?;
    let listing = service.list_queues(account, prefix.unwrap_or_default(), first, parameters.top());
    let page = listing.await?;
    let base = request.base(&call.head);
    let writer = QueueListWriter {
        base: &base,
        account: account.as_str(),
        parameters: &parameters,
        version: call.version(),
    };
    let queues = page.queues.iter();
    let queues = queues.map(|queue| (queue.name.as_str(), &queue.metadata));
    let mut body = Vec::with_capacity(256 + page.queues.len() * 64);
    writer.write(queues, page.next.as_deref(), &mut body);
    Ok(Reply::new(StatusCode::OK).body(XML, body))
}
