//! The sending side of forwarding: a request of a client, for the server with its data.

use super::answer_body::AnswerBody;
use super::cors;
use super::execute::Stage;
use super::owner_hint;
use super::protocol::{AuthorizedFor, Exchange};
use super::refused::{Refused, not_served, outcome_unknown};
use super::reply::{KEEP_ALIVE, Reply};
use super::request_head::RequestHead;
use super::spellings::Spellings;
use crate::forwarding::{Done, Membership, NotForwarded, Outgoing, grant_of, rights_of};
use bytes::Bytes;
use hyper::StatusCode;
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderName, HeaderValue};
use partita_model::Guid;
use partita_peer::forward::{
    ForwardedAnswer, ForwardedRequest, Grant, Headers, RangeId, Scheme, Tenure,
};
use partita_peer::policy::Kind;
use partita_peer::{Answer, Class};
use partita_rt::Shutdown;
use partita_service::{Account, BusyReason};
use partita_wire::{Access, AccountKeys, ErrorCode, Rights, ServiceOperation as _, Target};
use std::borrow::Cow;
use std::time::Duration;

/// Bodies above this size have a connection of their own.
const SMALL_BODY_BYTES_MAX: usize = 64 << 10;

/// The number of a request that no server has forwarded before.
const FIRST_HOP: u8 = 1;

/// The rights that an access policy gives.
pub(super) enum Resolved<A> {
    /// The rights.
    Access(A),
    /// None: the owner's answer.
    Refused(Box<Reply>),
}

/// What is sent.
struct Content<'a> {
    /// The key whose server executes the request.
    key: Bytes,
    account: &'a str,
    kind: Kind,
    class: Class,
    grant: Grant<'a>,
    body: Bytes,
    wait_end: Option<Shutdown>,
}

/// Forwards a request. `None` if this server has the data: the request is attached to it.
pub(super) async fn request<'r, E: Exchange<'r>>(
    call: &mut E,
    membership: &Membership,
    request: &AuthorizedFor<'r, E>,
    rights: &Rights,
    stage: &mut Stage,
) -> Result<Option<Reply>, Refused> {
    // The services of this server look up the table or queue, wherever its row is.
    call.head_mut().hosted = membership.hosting().current();
    let key = call.place(request).await?;
    call.head_mut().owner_asked = owner_hint::asked(call.head(), &key, rights);
    if attach(call, membership, &key) {
        return Ok(None);
    }
    let body = request.body.clone();
    let is_bulk = E::is_bulk(request) || body.len() > SMALL_BODY_BYTES_MAX;
    let content = Content {
        key,
        account: request.account.name.as_str(),
        kind: match request.operation.is_write() {
            true => Kind::Write,
            false => Kind::Read,
        },
        class: if is_bulk { Class::Bulk } else { Class::Small },
        grant: grant_of(rights).ok_or(ErrorCode::InternalError)?,
        body,
        wait_end: call.wait_end(request),
    };
    match Box::pin(send(call, membership, content, stage)).await? {
        Some(answer) => passed_on(call, answer).map(Some),
        None => Ok(None),
    }
}

/// Forwards a preflight. `None` if this server has the data.
pub(super) async fn preflight<'r, E: Exchange<'r>>(
    call: &mut E,
    membership: &Membership,
    target: &Target<'_>,
    stage: &mut Stage,
) -> Result<Option<Reply>, Refused> {
    let account = cors::account(call.head(), target)?;
    let content = Content {
        key: E::place_of_catalog(),
        account: account.name.as_str(),
        kind: Kind::Read,
        class: Class::Small,
        grant: Grant::Anonymous,
        body: Bytes::new(),
        wait_end: None,
    };
    if attach(call, membership, &content.key) {
        return Ok(None);
    }
    match Box::pin(send(call, membership, content, stage)).await? {
        Some(answer) => passed_on(call, answer).map(Some),
        None => Ok(None),
    }
}

/// The rights of a SAS whose terms are in a stored access policy, which the server with the data has.
pub(super) async fn resolve<'r, E: Exchange<'r>>(
    call: &mut E,
    target: &Target<'r>,
    account: &'r Account<AccountKeys>,
    stage: &mut Stage,
) -> Result<Resolved<Access<E::Rules>>, Refused> {
    let membership = call.head().front.parts.membership.as_deref();
    let membership = membership.ok_or_else(not_served)?;
    let content = Content {
        key: E::place_of_catalog(),
        account: account.name.as_str(),
        kind: Kind::Read,
        class: Class::Small,
        grant: Grant::Unresolved,
        body: Bytes::new(),
        wait_end: None,
    };
    if !attach(call, membership, &content.key)
        && let Some(answer) = Box::pin(send(call, membership, content, stage)).await?
    {
        return resolved(call, answer);
    }
    // Its operation has not begun.
    stage.is_executing = false;
    let (_, access) = super::authenticate::authenticate(call, target).await?;
    Ok(Resolved::Access(access.ok_or_else(not_served)?))
}

fn resolved<'r, E: Exchange<'r>>(
    call: &E,
    answer: Answer,
) -> Result<Resolved<Access<E::Rules>>, Refused> {
    match ForwardedAnswer::decode(&answer.head) {
        Ok(ForwardedAnswer::Rights(access)) => {
            let access = rights_of(&access.grant).and_then(Access::from_rights);
            Ok(Resolved::Access(access.ok_or(ErrorCode::InternalError)?))
        }
        _ => passed_on(call, answer).map(|reply| Resolved::Refused(Box::new(reply))),
    }
}

/// Attaches a request to the store of this server, if it has the data.
fn attach<'r, E: Exchange<'r>>(call: &mut E, membership: &Membership, key: &[u8]) -> bool {
    let hosted = membership.hosted(key);
    let is_here = hosted.is_some();
    // What was attached for another key is not what this answer depends on.
    call.head_mut().hosted = hosted;
    is_here
}

/// Sends a request and waits for its answer. `None` if this server has the data by now: the request is attached to it.
async fn send<'r, E: Exchange<'r>>(
    call: &mut E,
    membership: &Membership,
    content: Content<'_>,
    stage: &mut Stage,
) -> Result<Option<Answer>, Refused> {
    let done = {
        let head = call.head();
        let target = head.target()?;
        let base = target.base(head.scheme());
        let names = spelled_names(head);
        let outgoing = Outgoing {
            request: ForwardedRequest {
                service: E::SERVICE_ID,
                scheme: match head.caller.https {
                    true => Scheme::Https,
                    false => Scheme::Http,
                },
                hops: FIRST_HOP,
                // These three are set for each try.
                time_left: Duration::ZERO,
                range: RangeId(0),
                tenure: Tenure(0),
                request_id: Guid::parse(&head.request_id).map_or([0; 16], |id| id.0),
                service_version: head.version.map(|version| version.date()),
                client: head.caller.address,
                access: partita_peer::forward::Access {
                    grant: content.grant,
                    expires_ms: None,
                },
                account: content.account,
                base: &base,
                method: head.parts.method.as_str(),
                target: path_and_query(head),
                row: b"",
                headers: headers(head, &names),
            },
            key: content.key,
            kind: content.kind,
            class: content.class,
            body: content.body,
            deadline: stage.deadline,
            wait_end: content.wait_end,
        };
        membership.forward(&outgoing, &mut stage.is_executing).await
    };
    match done {
        Ok(Done::Answered(answer)) => Ok(Some(answer)),
        Ok(Done::Here(hosted)) => {
            call.head_mut().hosted = Some(hosted);
            Ok(None)
        }
        Err(NotForwarded::NotExecuted) => Err(not_served().into()),
        Err(NotForwarded::Unknown) => Err(outcome_unknown().into()),
    }
}

fn path_and_query<'a>(head: &RequestHead<'a>) -> &'a str {
    let path = head.parts.uri.path_and_query();
    path.map_or("/", |path| path.as_str())
}

/// Whether the server with the data needs a header. It does not verify credentials in headers again, and the body is
/// framed by the connection between the servers.
fn is_forwarded(name: &HeaderName) -> bool {
    ![
        header::AUTHORIZATION,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::HOST,
        header::TRANSFER_ENCODING,
    ]
    .contains(name)
}

/// The names of the forwarded headers as the client spelled them.
fn spelled_names<'a>(head: &RequestHead<'a>) -> Vec<Cow<'a, str>> {
    let spelled = |name: &str| head.spellings?.received(name);
    let names = head.parts.headers.keys();
    let names = names.filter(|name| is_forwarded(name));
    let names = names.map(|name| match spelled(name.as_str()) {
        Some(spelled) => Cow::Owned(spelled),
        None => Cow::Borrowed(name.as_str()),
    });
    names.collect()
}

fn headers<'a>(head: &RequestHead<'a>, names: &'a [Cow<'_, str>]) -> Headers<'a> {
    let sent = &head.parts.headers;
    let mut headers = Headers::with_capacity(sent.len() + 1);
    // A target with a host takes precedence over the header.
    if let Some(authority) = head.parts.uri.authority() {
        headers.push(("host", authority.as_str().as_bytes()));
    } else if let Some(host) = sent.get(header::HOST) {
        headers.push(("host", host.as_bytes()));
    }
    for name in names {
        let values = sent.get_all(&**name).iter();
        headers.extend(values.map(|value| (&**name, value.as_bytes())));
    }
    headers
}

/// The reply with an answer of the server with the data, byte for byte.
fn passed_on<'r, E: Exchange<'r>>(call: &E, answer: Answer) -> Result<Reply, Refused> {
    let Answer { head, body } = answer;
    let Ok(ForwardedAnswer::Answered {
        status,
        reason,
        body_bytes,
        entities,
        code,
        busy,
        headers,
    }) = ForwardedAnswer::decode(&head)
    else {
        tracing::warn!("a peer answered a request with something else than an answer");
        return Err(ErrorCode::InternalError.into());
    };
    let status = StatusCode::from_u16(status).map_err(|_| ErrorCode::InternalError)?;
    let mut reply = Reply::new(status);
    reply.reason = ReasonPhrase::try_from(reason.as_bytes()).ok();
    reply.reason = reply.reason.filter(|_| !reason.is_empty());
    add_headers(&mut reply, &headers, call.head().spellings);
    if reply.headers.contains_key(&KEEP_ALIVE) {
        // The connection is this server's.
        let keep_alive = call.head().front.keep_alive.clone();
        reply.headers.insert(KEEP_ALIVE, keep_alive);
    }
    let mut codes = call.operation().error_codes().iter();
    reply.code = codes.find(|known| known.name() == code).copied();
    let mut words = BusyReason::WORDS.into_iter();
    reply.busy = words.find(|word| *word == busy);
    reply.entities = entities;
    reply.body = AnswerBody::arriving(body, body_bytes);
    reply.is_passed_on = true;
    Ok(reply)
}

fn add_headers(reply: &mut Reply, headers: &Headers<'_>, spellings: Option<&Spellings>) {
    for (name, value) in headers {
        let header = HeaderName::from_bytes(name.as_bytes());
        let (Ok(header), Ok(value)) = (header, HeaderValue::from_bytes(value)) else {
            continue;
        };
        if let Some(spellings) = spellings {
            spellings.send(name);
        }
        reply.headers.append(header, value);
    }
}
