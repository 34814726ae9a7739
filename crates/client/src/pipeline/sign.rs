//! From a request to an attempt: dated, signed, with the headers of every storage protocol.

use super::Pipeline;
use crate::request::Request;
use crate::{Credential, Endpoint, Error, ErrorKind, clock};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body_util::Full;
use partita_wire::{AccountKey, Failure, Method, http_date};

/// What differs between the storage protocols, as far as the pipeline is concerned.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// `x-ms-version`.
    pub(crate) version: &'static str,
    /// `x-ms-version` of requests with a bearer token.
    pub(crate) token_version: &'static str,
    /// The value of `Authorization` for a shared key.
    pub(crate) authorization: fn(&Unsigned<'_>) -> Result<String, Failure>,
}

/// A request that is about to be signed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsigned<'a> {
    pub(crate) request: &'a Request,
    pub(crate) endpoint: &'a Endpoint,
    /// Path and query as on the request line.
    pub(crate) target: &'a str,
    pub(crate) account: &'a str,
    pub(crate) key: &'a AccountKey,
    /// `x-ms-date`.
    pub(crate) date: &'a str,
}

impl Pipeline {
    /// The request as it is sent: dated, signed, with its own id.
    pub(super) async fn signed(
        &self,
        request: &Request,
        id: &str,
    ) -> Result<http::Request<Full<bytes::Bytes>>, Error> {
        let endpoint = self.endpoint_of(request);
        let signature = match &self.credential {
            Credential::Sas(query) => Some(query.as_str()),
            _ => None,
        };
        let target = request.target(endpoint, signature);
        let date = http_date(clock::now());
        let version = match &self.credential {
            Credential::Token(_) => self.protocol.token_version,
            _ => self.protocol.version,
        };
        let authorization = self.authorization(request, &target, &date).await?;
        let scheme = if endpoint.is_https() { "https" } else { "http" };
        let mut built = http::Request::new(Full::new(request.body.clone()));
        *built.method_mut() = http::Method::from_bytes(request.method.name().as_bytes())
            .map_err(|error| Error::input("the method cannot be sent").caused_by(error))?;
        *built.uri_mut() = http::Uri::builder()
            .scheme(scheme)
            .authority(endpoint.authority())
            .path_and_query(target)
            .build()
            .map_err(|error| {
                Error::input("the request's URL is longer than can be sent, or malformed")
                    .caused_by(error)
            })?;
        let headers = Headers {
            request,
            id,
            date: &date,
            version,
            authorization: authorization.as_deref(),
        };
        headers.write(self.user_agent.clone(), built.headers_mut())?;
        Ok(built)
    }

    /// The value of `Authorization`; `None` where the signature is in the query.
    async fn authorization(
        &self,
        request: &Request,
        target: &str,
        date: &str,
    ) -> Result<Option<String>, Error> {
        let (account, key) = match &self.credential {
            Credential::Sas(_) => return Ok(None),
            Credential::Token(provider) => {
                let failed =
                    |error| Error::new(ErrorKind::Credential, "there is no token").caused_by(error);
                let token =
                    tokio::time::timeout(self.options.attempt_timeout, provider.token()).await;
                let token = token.map_err(|late| failed(late.into()))?.map_err(failed)?;
                return Ok(Some(format!("Bearer {token}")));
            }
            Credential::SharedKey { account, key } => (account, key),
        };
        let unsigned = Unsigned {
            request,
            endpoint: self.endpoint_of(request),
            target,
            account,
            key,
            date,
        };
        let failed = |error| Error::input("the request cannot be signed").caused_by(error);
        (self.protocol.authorization)(&unsigned)
            .map(Some)
            .map_err(failed)
    }

    fn endpoint_of(&self, request: &Request) -> &Endpoint {
        if request.secondary {
            &self.secondary
        } else {
            &self.endpoint
        }
    }
}

/// The values of an attempt's headers.
struct Headers<'a> {
    request: &'a Request,
    id: &'a str,
    date: &'a str,
    version: &'static str,
    authorization: Option<&'a str>,
}

impl Headers<'_> {
    fn write(&self, user_agent: HeaderValue, out: &mut HeaderMap) -> Result<(), Error> {
        let request = self.request;
        let has_body = matches!(request.method, Method::Post | Method::Put | Method::Patch);
        out.insert(header::USER_AGENT, user_agent);
        let values: [(HeaderName, Option<&str>); 8] = [
            (HeaderName::from_static("x-ms-version"), Some(self.version)),
            (HeaderName::from_static("x-ms-date"), Some(self.date)),
            (
                HeaderName::from_static("x-ms-client-request-id"),
                Some(self.id),
            ),
            (header::ACCEPT, Some(request.accept)),
            (header::IF_MATCH, request.if_match.as_deref()),
            (
                header::CONTENT_TYPE,
                Some(&*request.content_type).filter(|text| !text.is_empty()),
            ),
            // Some front ends require a length on every write, also without a body.
            (
                header::CONTENT_LENGTH,
                (has_body && request.body.is_empty()).then_some("0"),
            ),
            (header::AUTHORIZATION, self.authorization),
        ];
        for (name, value) in request.extra_headers.iter().flatten() {
            out.insert(name.clone(), HeaderValue::from_static(value));
        }
        for (name, value) in values {
            let Some(value) = value else { continue };
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Error::input(format!("the value of {name} cannot stand in a header"))
            })?;
            value.set_sensitive(name == header::AUTHORIZATION);
            out.insert(name, value);
        }
        Ok(())
    }
}
