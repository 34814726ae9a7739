//! A request's head, and the headers that every storage protocol reads and answers.

use super::Front;
use super::reply::{
    KEEP_ALIVE, Reply, X_MS_CLIENT_REQUEST_ID, X_MS_ERROR_CODE, X_MS_REQUEST_ID, X_MS_VERSION,
    X_PARTITA_HINT, X_PARTITA_REASON,
};
use super::spellings::Spellings;
use crate::forwarding::Hosted;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use partita_model::{DateTime, Guid, GuidText};
use partita_peer::forward::{ForwardedRequest, Scheme};
use partita_wire::{Caller, ErrorCode, Failure, Occurrence, Query, Target, Version};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The maximum length of a client request id in bytes; longer ones are not returned (protocol: 1,024 characters).
const CLIENT_REQUEST_ID_BYTES_MAX: usize = 1024;

/// The first version in which XML errors, and JSON errors before an operation, also have their code in a header. An
/// older recording has no such header: gostorage--StorageTableSuite_TestSetPermissionsUnsuccessfully.
const ERROR_CODE_HEADER: Version = Version::from_date(20_170_729);

const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("Partita/", env!("CARGO_PKG_VERSION")));

/// What is known about the client of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Client<'r> {
    pub(super) peer: Option<IpAddr>,
    pub(super) spellings: Option<&'r Spellings>,
}

/// What the owner hint of a request depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnerAsked {
    /// The key of the request.
    pub(super) key: Bytes,
    /// Whether the client has chosen this server by an earlier hint.
    pub(super) is_direct: bool,
}

/// The head of a request, and the values that every protocol parses from it.
#[derive(Debug, Clone)]
pub(super) struct RequestHead<'r> {
    pub(super) front: &'r Front,
    pub(super) parts: &'r Parts,
    pub(super) caller: Caller,
    /// How the client spells the names of metadata.
    pub(super) spellings: Option<&'r Spellings>,
    pub(super) request_id: GuidText,
    pub(super) version: Option<Version>,
    /// The store with the data of the request, in a server of a cluster. `None` until it is known to be here.
    pub(super) hosted: Option<Arc<Hosted>>,
    /// The owner hint that the client has asked for, once the request's key is known.
    pub(super) owner_asked: Option<OwnerAsked>,
    /// The rest of the time limit that another server has; `None` for a request of a client.
    pub(super) time_left: Option<Duration>,
    /// For a forwarded request that waits for data: notified when the server that sent it wants the answer at once.
    pub(super) sender_ended_wait: Option<Arc<Notify>>,
    /// The value of `x-ms-version` in the answer: the request's version, from the header or the query.
    pub(super) version_text: Option<HeaderValue>,
}

impl<'r> RequestHead<'r> {
    pub(super) fn new(front: &'r Front, parts: &'r Parts, client: Client<'r>) -> Self {
        let now = DateTime::from_system(front.parts.clock.now());
        Self {
            front,
            parts,
            caller: Caller {
                now,
                address: client.peer,
                https: front.parts.tls.is_some(),
            },
            spellings: client.spellings,
            request_id: Guid(partita_rt::random::guid()).text(),
            version: None,
            hosted: None,
            owner_asked: None,
            time_left: None,
            sender_ended_wait: None,
            version_text: None,
        }
    }

    /// The head of a request that another server has authenticated: client, scheme and request id are as it saw them.
    pub(super) fn forwarded(
        front: &'r Front,
        parts: &'r Parts,
        spellings: Option<&'r Spellings>,
        request: &ForwardedRequest<'_>,
        hosted: Arc<Hosted>,
    ) -> Self {
        let client = Client {
            peer: request.client,
            spellings,
        };
        let mut head = Self::new(front, parts, client);
        head.caller.https = request.scheme == Scheme::Https;
        head.request_id = Guid(request.request_id).text();
        head.hosted = Some(hosted);
        head.time_left = Some(request.time_left);
        head
    }

    /// A service of this server: `own` if it has its own data, else that of the store with the data of the request.
    /// `None` if this server does not have the data.
    pub(super) fn service<'a, S>(
        &'a self,
        own: &'a Option<Arc<S>>,
        of_store: fn(&Hosted) -> &Arc<S>,
    ) -> Option<&'a S> {
        match own {
            Some(service) => Some(service),
            None => self.hosted.as_deref().map(|hosted| &**of_store(hosted)),
        }
    }

    /// The scheme of the client's connection.
    pub(super) const fn scheme(&self) -> &'static str {
        if self.caller.https { "https" } else { "http" }
    }

    /// The first value of a header. An unreadable value counts as absent, so this is for headers that only shape the
    /// answer; use [`Self::decisive_header`] for the others.
    pub(super) fn header(&self, name: &HeaderName) -> Option<&'r str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// The value of a header that decides about access. An unreadable value becomes the empty text, which is refused;
    /// if it counted as absent, the server would fall back to other credentials.
    pub(super) fn decisive_header(&self, name: &HeaderName) -> Option<&'r str> {
        let value = self.parts.headers.get(name)?;
        Some(value.to_str().unwrap_or_default())
    }

    /// The server's time limit, or the client's `timeout` if that is shorter. An invalid `timeout` is refused after
    /// authentication.
    pub(super) fn time_limit(&self) -> Duration {
        let query = Query::new(self.parts.uri.query().unwrap_or_default());
        let limit = self.front.parts.limits.request_timeout;
        let limit = self.time_left.unwrap_or(limit);
        let requested = query.timeout_seconds().ok().flatten();
        requested.map_or(limit, |seconds| {
            limit.min(Duration::from_secs(u64::from(seconds)))
        })
    }

    /// The request target.
    pub(super) fn target(&self) -> Result<Target<'r>, Failure> {
        let uri = &self.parts.uri;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let host = uri
            .authority()
            .map(|authority| authority.as_str())
            .or_else(|| self.header(&header::HOST));
        let accounts = &self.front.parts.accounts;
        Target::parse(path, host, &self.front.hosts, |name| {
            accounts.get(name).is_some()
        })
    }

    /// Reads the version from the header, or for shared access signatures from the query.
    pub(super) fn read_version(&mut self, target: &Target<'_>) -> Result<(), Failure> {
        if let Some(value) = self.parts.headers.get(&X_MS_VERSION) {
            self.version_text = Some(value.clone());
            self.version = Some(Version::parse_header(value.to_str().unwrap_or_default())?);
            return Ok(());
        }
        for name in ["api-version", "sv"] {
            if let Some(text) = target.query.get(name)? {
                self.version = Version::parse(&text);
                self.version_text = self.version.and_then(|_| HeaderValue::from_str(&text).ok());
                return Ok(());
            }
        }
        Ok(())
    }

    pub(super) fn occurrence(&self) -> Occurrence<'_> {
        Occurrence {
            request_id: &self.request_id,
            time: self.caller.now,
            batch_index: None,
        }
    }

    /// Adds the header with the code of an error, which old versions do not have.
    pub(super) fn with_error_code(&self, failure: &Failure, reply: Reply) -> Reply {
        match self.version {
            Some(version) if version < ERROR_CODE_HEADER => reply,
            _ => reply.header(X_MS_ERROR_CODE, failure.code.name()),
        }
    }

    /// Adds the headers that all protocols have in the answer to a refused request.
    pub(super) fn add_failure(&self, failure: &Failure, reply: &mut Reply) {
        let headers = &mut reply.headers;
        if failure.status() == 401 {
            headers.insert(header::WWW_AUTHENTICATE, self.front.challenge.clone());
        }
        if matches!(
            failure.code,
            ErrorCode::ServerBusy | ErrorCode::OperationTimedOut
        ) {
            let seconds = HeaderValue::from(failure.retry_after_s);
            headers.insert(header::RETRY_AFTER, seconds);
        }
        if let Some(reason) = failure.reason {
            headers.insert(X_PARTITA_REASON, HeaderValue::from_static(reason));
        }
        if let Some(hint) = &failure.hint
            && let Ok(hint) = HeaderValue::from_str(&hint.header())
        {
            headers.insert(X_PARTITA_HINT, hint);
        }
        if let Some(allow) = failure.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        reply.code = Some(failure.code);
        reply.busy = failure.reason;
    }

    /// Adds the headers of every answer, and `extra`.
    pub(super) fn complete(
        &self,
        mut reply: Reply,
        extra: Option<(HeaderName, &'static str)>,
    ) -> Reply {
        let headers = &mut reply.headers;
        headers.insert(header::SERVER, SERVER);
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            headers.insert(X_MS_REQUEST_ID, id);
        }
        if let Some(version) = &self.version_text {
            headers.insert(X_MS_VERSION, version.clone());
        }
        let returns_id = self
            .version
            .is_none_or(|version| version >= Version::CLIENT_REQUEST_ID);
        if let Some(id) = self.parts.headers.get(&X_MS_CLIENT_REQUEST_ID)
            && returns_id
            && id.len() <= CLIENT_REQUEST_ID_BYTES_MAX
        {
            headers.insert(X_MS_CLIENT_REQUEST_ID, id.clone());
        }
        if let Some((name, value)) = extra {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if !self.wants_close() {
            // Azurite, a Node server, sends both, and old clients rely on them.
            headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
            headers.insert(KEEP_ALIVE, self.front.keep_alive.clone());
        }
        reply
    }

    /// Whether the client will close the connection after this answer.
    fn wants_close(&self) -> bool {
        let close = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"close");
        let connection = self.parts.headers.get(header::CONNECTION);
        connection.is_some_and(close)
    }
}
