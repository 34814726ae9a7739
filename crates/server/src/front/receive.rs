//! The receiving side of forwarding: the requests of other servers, for the data that this server has.

use super::answer_body::AnswerBody;
use super::authenticate::authenticate;
use super::busy::busy;
use super::execute::{Stage, execute, finish, pass_gate};
use super::protocol::{Exchange, Outcome, Protocol};
use super::queue::QueueFront;
use super::refused::Refused;
use super::reply::Reply;
use super::request_head::RequestHead;
use super::rows as rows_of;
use super::spellings::Spellings;
use super::table::TableFront;
use crate::admin::answer_server;
use crate::forwarding::{ADMIN_VERSION, HOST_VERSION, Hosted, Membership, grant_of, rights_of};
use crate::logging::REQUESTS;
use crate::status::ServerStatus;
use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::Request;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use partita_peer::forward::{Access, ForwardedAnswer, ForwardedRequest, Grant, ServiceId, Tenure};
use partita_peer::{self as peer, Handler, Received, Refuse, rows};
use partita_service::{Busy, MemoryBudget, Reserved, UNCOUNTED_BYTES};
use partita_wire::{ErrorCode, Method, Rights};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::Notify;

/// The most bytes of a request of the manager: a version of the map.
const MANAGER_BYTES_MAX: usize = 64 << 20;

/// Executes the requests of other servers.
#[derive(Debug)]
pub struct Receiver {
    membership: Arc<Membership>,
    tables: Arc<TableFront>,
    queues: Arc<QueueFront>,
    status: Arc<ServerStatus>,
}

impl Receiver {
    /// Executes requests on what the member serves.
    pub const fn new(
        membership: Arc<Membership>,
        tables: Arc<TableFront>,
        queues: Arc<QueueFront>,
        status: Arc<ServerStatus>,
    ) -> Self {
        Self {
            membership,
            tables,
            queues,
            status,
        }
    }

    /// Answers a request of the manager.
    async fn answer_manager(&self, body: peer::Body) -> peer::Outcome {
        let server = self.membership.range_server().ok_or(Refuse)?;
        let request = body.collect(MANAGER_BYTES_MAX).await.map_err(|_| Refuse)?;
        let answer = server.answer(&request).await;
        Ok(peer::Reply {
            head: vec![HOST_VERSION],
            body: vec![answer.into()],
        })
    }

    /// Answers a page or an action of the admin port for another server.
    async fn answer_admin(&self, body: peer::Body) -> peer::Outcome {
        let asked = body.collect(MANAGER_BYTES_MAX).await.map_err(|_| Refuse)?;
        let (status, json) = answer_server(&self.status, &asked).await;
        let [low, high] = status.to_le_bytes();
        Ok(peer::Reply {
            head: vec![ADMIN_VERSION, low, high],
            body: vec![json.into()],
        })
    }

    /// Says where the range may be: 421 if this server knows a newer tenure. Without one, the front can only try again.
    fn not_here(request: &ForwardedRequest<'_>, newest: Tenure) -> peer::Outcome {
        if newest <= request.tenure {
            return Err(Refuse);
        }
        Ok(peer::Reply {
            head: ForwardedAnswer::NotHere(newest).encode(),
            body: Vec::new(),
        })
    }
}

impl Handler for Receiver {
    async fn handle(&self, received: Received) -> peer::Outcome {
        let Received { peer, head, body } = received;
        match head.first() {
            Some(&rows::VERSION) => return rows_of::answer(&self.membership, &head, body).await,
            Some(&HOST_VERSION) => return self.answer_manager(body).await,
            Some(&ADMIN_VERSION) => return self.answer_admin(body).await,
            _ => {}
        }
        let request = ForwardedRequest::decode(&head).map_err(|error| {
            tracing::warn!(%peer, %error, "a peer sent a malformed request");
            Refuse
        })?;
        // A request is forwarded once: its front knows the map as well as this server does.
        if request.hops != 1 {
            tracing::warn!(%peer, hops = request.hops, "a peer forwarded a request again");
            return Err(Refuse);
        }
        let hosted = match self.membership.hosted_range(request.range) {
            Ok(hosted) => hosted,
            Err(newest) => return Self::not_here(&request, newest),
        };
        match request.service {
            ServiceId::Table => serve(&*self.tables, hosted, &request, body).await,
            ServiceId::Queue => serve(&*self.queues, hosted, &request, body).await,
        }
    }
}

/// What a request is answered with.
enum Executed {
    Reply(Reply),
    Rights(Rights),
}

/// Boxed, so that the compiler checks once for all protocols that the future is `Send`.
fn serve<'a, P: Protocol>(
    protocol: &'a P,
    hosted: Arc<Hosted>,
    request: &'a ForwardedRequest<'_>,
    body: peer::Body,
) -> BoxFuture<'a, peer::Outcome> {
    Box::pin(serve_here(protocol, hosted, request, body))
}

async fn serve_here<P: Protocol>(
    protocol: &P,
    hosted: Arc<Hosted>,
    request: &ForwardedRequest<'_>,
    body: peer::Body,
) -> peer::Outcome {
    let front = protocol.front();
    let _under_way = front.parts.metrics.forwarding.for_peer();
    let spellings = P::KEEPS_SPELLINGS.then(Spellings::default);
    let spellings = spellings.as_ref();
    let parts = parts(request, spellings).ok_or(Refuse)?;
    let head = RequestHead::forwarded(front, &parts, spellings, request, hosted);
    let mut call = protocol.begin(head);
    let time_limit = call.head().time_limit();
    let mut stage = Stage::until(front.parts.clock.monotonic() + time_limit);
    let mut memory = Reserved::default();
    let handling = async {
        let executed = handle(&mut call, request, body, &mut stage, &mut memory).await;
        let (outcome, rights) = match executed {
            Ok(Executed::Reply(reply)) => (Ok(reply), None),
            Ok(Executed::Rights(rights)) => (Ok(Reply::new(hyper::StatusCode::OK)), Some(rights)),
            Err(refused) => (Err(refused), None),
        };
        let outcome = pass_gate(&call, &stage, outcome).await;
        (outcome, rights)
    };
    let handled = tokio::time::timeout(time_limit, handling).await;
    if let Ok((Ok(_), Some(rights))) = &handled {
        return rights_answer(rights);
    }
    let reply = finish(&call, &stage, handled.map(|(outcome, _)| outcome));
    tracing::debug!(
        target: REQUESTS,
        request_id = &*call.head().request_id,
        operation = call.operation().name(),
        status = reply.status.as_u16(),
        code = reply.code.map(ErrorCode::name),
        "request of another server answered"
    );
    Ok(answer(reply, spellings))
}

/// The steps of a request after its front has authenticated it.
async fn handle<'r, E: Exchange<'r>>(
    call: &mut E,
    request: &ForwardedRequest<'_>,
    body: peer::Body,
    stage: &mut Stage,
    memory: &mut Reserved,
) -> Result<Executed, Refused> {
    let target = call.head().target()?;
    call.head_mut().read_version(&target)?;
    if matches!(request.access.grant, Grant::Anonymous) {
        call.begin_preflight();
        return call.preflight(&target).await.map(Executed::Reply);
    }
    let method = Method::parse(call.head().parts.method.as_str())?;
    let front = call.head().front;
    let account = front.parts.accounts.get(&target.account);
    // Servers with different settings read the same URL in different ways.
    let account = account.filter(|account| account.name.as_str() == request.account);
    let account = account.ok_or(ErrorCode::InternalError)?;
    if matches!(request.access.grant, Grant::Unresolved) {
        let (_, access) = authenticate(call, &target).await?;
        let access = access.ok_or(ErrorCode::InternalError)?;
        return Ok(Executed::Rights(access.rights().clone()));
    }
    let access = rights_of(&request.access.grant).and_then(partita_wire::Access::from_rights);
    let access = access.ok_or(ErrorCode::InternalError)?;
    let mut authorized = call.authorize(target, method, account, access)?;
    if call.wait_end(&authorized).is_some() {
        let ended = Arc::<Notify>::default();
        call.head_mut().sender_ended_wait = Some(Arc::clone(&ended));
        return tokio::select! {
            executed = execute(call, account, &authorized, stage) => executed.map(Executed::Reply),
            never = notify_at_end(body, &ended) => match never {},
        };
    }
    let bytes_max = front.parts.limits.body_bytes_max;
    let bytes = read_body(body, memory, &front.parts.memory, bytes_max).await?;
    stage.bytes_in = bytes.len() as u64;
    authorized.body = bytes;
    let executed: Outcome = execute(call, account, &authorized, stage).await;
    executed.map(Executed::Reply)
}

/// Notifies of the end of a body, which its front leaves open as long as the request may wait.
async fn notify_at_end(mut body: peer::Body, ended: &Notify) -> Infallible {
    // After an error no one reads the answer, and the request is dropped.
    while let Ok(Some(_)) = body.frame().await {}
    ended.notify_one();
    std::future::pending().await
}

/// The whole body, which its front has limited and checked.
async fn read_body(
    mut body: peer::Body,
    reserved: &mut Reserved,
    memory: &Arc<MemoryBudget>,
    bytes_max: usize,
) -> Result<Bytes, Refused> {
    let (mut frames, mut bytes) = (Vec::new(), 0);
    // An error means that the front has given up: then no one reads the answer.
    while let Some(frame) = body.frame().await.map_err(|_| ErrorCode::InvalidInput)? {
        bytes += frame.len();
        if bytes > bytes_max {
            return Err(ErrorCode::RequestBodyTooLarge.into());
        }
        // The body, and the rows that are built from it.
        if 2 * bytes > UNCOUNTED_BYTES {
            let grown = reserved.grow_to(memory, 2 * bytes);
            grown.map_err(|refused: Busy| busy(&refused))?;
        }
        frames.push(frame);
    }
    Ok(match frames.len() {
        0 | 1 => frames.pop().unwrap_or_default(),
        _ => frames.concat().into(),
    })
}

/// The head of the request as hyper would have read it. `None` if it is not one of HTTP.
fn parts(request: &ForwardedRequest<'_>, spellings: Option<&Spellings>) -> Option<Parts> {
    let mut head = Request::builder()
        .method(request.method)
        .uri(request.target);
    let headers = head.headers_mut()?;
    for (name, value) in &request.headers {
        if let Some(spellings) = spellings {
            spellings.note(name);
        }
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(head.body(()).ok()?.into_parts().0)
}

fn rights_answer(rights: &Rights) -> peer::Outcome {
    let access = Access {
        grant: grant_of(rights).ok_or(Refuse)?,
        expires_ms: None,
    };
    Ok(peer::Reply {
        head: ForwardedAnswer::Rights(access).encode(),
        body: Vec::new(),
    })
}

/// The reply as its front passes it on, with names as they are to be spelled.
fn answer(reply: Reply, spellings: Option<&Spellings>) -> peer::Reply {
    let names = reply.headers.keys().map(|name| {
        let spelled = spellings.and_then(|spellings| spellings.sent(name.as_str()));
        (name, spelled)
    });
    let names: Vec<_> = names.collect();
    let mut headers = Vec::with_capacity(reply.headers.len());
    for (name, spelled) in &names {
        let text = spelled.as_deref().unwrap_or(name.as_str());
        let values = reply.headers.get_all(*name).iter();
        headers.extend(values.map(|value| (text, value.as_bytes())));
    }
    let reason = reply.reason.as_ref();
    let reason = reason.and_then(|reason| std::str::from_utf8(reason.as_bytes()).ok());
    let head = ForwardedAnswer::Answered {
        status: reply.status.as_u16(),
        reason: reason.unwrap_or_default(),
        body_bytes: reply.body.len(),
        entities: reply.entities,
        code: reply.code.map_or("", ErrorCode::name),
        busy: reply.busy.unwrap_or_default(),
        headers,
    };
    peer::Reply {
        head: head.encode(),
        body: AnswerBody::into_pieces(reply.body),
    }
}
