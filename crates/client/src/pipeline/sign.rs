//! Turns a request into an attempt: adds the date, the signature, and the headers that all storage protocols share.

use super::Pipeline;
use crate::request::Request;
use crate::{Credential, Endpoint, Error, ErrorKind, TokenError, clock};
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http_body_util::Full;
use partita_wire::{
    AccountKey, Failure, Method, OWNER_HEADER, Query, ServiceKind, Style, Target, http_date,
};

/// The differences between the storage protocols.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// The service.
    pub(crate) service: ServiceKind,
    /// `x-ms-version`.
    pub(crate) version: &'static str,
    /// `x-ms-version` of requests with a bearer token.
    pub(crate) token_version: &'static str,
    /// The value of `Authorization` for a shared key.
    pub(crate) authorization: fn(&Unsigned<'_>) -> Result<String, Failure>,
}

/// The inputs of a Shared Key signature.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsigned<'a> {
    pub(crate) request: &'a Request,
    pub(crate) endpoint: &'a Endpoint,
    /// Path and query as on the request line.
    pub(crate) path_and_query: &'a str,
    pub(crate) account: &'a str,
    pub(crate) key: &'a AccountKey,
    /// `x-ms-version`.
    pub(crate) version: &'a str,
    /// `x-ms-date`.
    pub(crate) date: &'a str,
    /// `x-ms-client-request-id`.
    pub(crate) id: &'a str,
}

impl<'a> Unsigned<'a> {
    /// The request's URL, as the signature needs it.
    pub(crate) fn target(&self) -> Target<'a> {
        let split = self.path_and_query.split_once('?');
        let (path, query) = split.unwrap_or((self.path_and_query, ""));
        Target {
            account: self.account.into(),
            secondary: self.request.secondary,
            style: if self.endpoint.path().is_empty() {
                Style::Host
            } else {
                Style::Path
            },
            host: self.endpoint.authority(),
            path,
            rest: path,
            query: Query::new(query),
        }
    }
}

/// The server of an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipient<'a> {
    /// The account there.
    pub(super) endpoint: &'a Endpoint,
    /// The value of the header that asks for an owner hint, if it is asked for.
    pub(super) owner: Option<&'a str>,
}

impl Pipeline {
    /// The HTTP request of one attempt; `id` is its `x-ms-client-request-id`.
    pub(super) async fn signed(
        &self,
        request: &Request,
        Recipient { endpoint, owner }: Recipient<'_>,
        id: &str,
    ) -> Result<http::Request<Full<Bytes>>, Error> {
        let date = http_date(clock::now());
        // All parts of an attempt use one credential, though another task may replace it.
        let credential = self.account.credential.current();
        check_transport(endpoint, &credential)?;
        let signature = match &*credential {
            Credential::Sas(query) => Some(query.as_str()),
            _ => None,
        };
        let target = request.target(endpoint, signature);
        let (version, authorization) = self
            .authorize(request, endpoint, &credential, [&target, &date, id])
            .await?;
        let uri = http::Uri::builder()
            .scheme(if endpoint.is_https() { "https" } else { "http" })
            .authority(endpoint.authority())
            .path_and_query(target)
            .build()
            .map_err(|error| Error::input("invalid or too long request URL").caused_by(error))?;
        let mut signed = http::Request::new(Full::new(request.body.clone()));
        *signed.method_mut() = http::Method::from_bytes(request.method.name().as_bytes())
            .map_err(|error| Error::input("invalid HTTP method").caused_by(error))?;
        *signed.uri_mut() = uri;
        let headers = signed.headers_mut();
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        let has_body = matches!(request.method, Method::Post | Method::Put | Method::Patch);
        let content_type = Some(&*request.content_type).filter(|text| !text.is_empty());
        let common = [
            (HeaderName::from_static("x-ms-version"), Some(version)),
            (HeaderName::from_static("x-ms-date"), Some(&*date)),
            (HeaderName::from_static("x-ms-client-request-id"), Some(id)),
            (header::ACCEPT, Some(request.accept)),
            (header::IF_MATCH, request.if_match.as_deref()),
            (header::CONTENT_TYPE, content_type),
            // Some front ends require a length on every POST, PUT and PATCH, even without a body.
            (
                header::CONTENT_LENGTH,
                (has_body && request.body.is_empty()).then_some("0"),
            ),
            (header::AUTHORIZATION, authorization.as_deref()),
            (HeaderName::from_static(OWNER_HEADER), owner),
        ];
        let extra = request.extra_headers.iter();
        let extra = extra.map(|(name, value)| (name.clone(), Some(&**value)));
        for (name, value) in extra.chain(common) {
            let Some(value) = value else { continue };
            let mut value = HeaderValue::from_str(value).map_err(|error| {
                Error::input(format!("invalid value for {name}")).caused_by(error)
            })?;
            value.set_sensitive(name == header::AUTHORIZATION);
            headers.insert(name, value);
        }
        Ok(signed)
    }

    /// `x-ms-version` and the value of `Authorization`, which is absent for a shared access signature.
    async fn authorize(
        &self,
        request: &Request,
        endpoint: &Endpoint,
        credential: &Credential,
        [path_and_query, date, id]: [&str; 3],
    ) -> Result<(&'static str, Option<String>), Error> {
        match credential {
            Credential::Sas(_) => Ok((self.protocol.version, None)),
            Credential::Rotating(_) => unreachable!("the current credential is not a rotating one"),
            Credential::Token(provider) => {
                let failed = |error: TokenError| {
                    let message = "the token provider failed";
                    Error::new(ErrorKind::Credential, message).caused_by(error)
                };
                let token = tokio::time::timeout(self.options.attempt_timeout, provider.token());
                let token = token.await.map_err(|late| failed(late.into()))?;
                let token = token.map_err(failed)?;
                Ok((self.protocol.token_version, Some(format!("Bearer {token}"))))
            }
            Credential::SharedKey { account, key } => {
                let unsigned = Unsigned {
                    request,
                    endpoint,
                    path_and_query,
                    account,
                    key,
                    version: self.protocol.version,
                    date,
                    id,
                };
                let signed = (self.protocol.authorization)(&unsigned)
                    .map_err(|error| Error::input("cannot sign the request").caused_by(error))?;
                Ok((self.protocol.version, Some(signed)))
            }
        }
    }
}

/// Refuses to send bearer tokens in plain text to another machine.
pub(super) fn check_transport(endpoint: &Endpoint, credential: &Credential) -> Result<(), Error> {
    let is_remote_plain = || !endpoint.is_https() && !endpoint.is_loopback();
    if matches!(credential, Credential::Token(_)) && is_remote_plain() {
        let message = "bearer tokens need an https endpoint or an endpoint on the local machine";
        return Err(Error::new(ErrorKind::Credential, message));
    }
    Ok(())
}
