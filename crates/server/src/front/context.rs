//! What is known of a request while it is answered.

use super::Front;
use super::account::Account;
use super::reply::{
    KEEP_ALIVE, PREFERENCE_APPLIED, Reply, X_MS_CLIENT_REQUEST_ID, X_MS_ERROR_CODE,
    X_MS_REQUEST_ID, X_MS_VERSION, X_PARTITA_REASON,
};
use super::table::failure;
use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use partita_model::{DateTime, Guid, GuidText};
use partita_table::Table;
use partita_wire::table::{
    Access, BodyForm, EntityFormat, MetadataLevel, Operation, Prefer, Resource, Select, error_form,
    write_error_json, write_error_xml,
};
use partita_wire::{Caller, ErrorCode, Failure, Occurrence, Target, Version};
use std::net::IpAddr;

/// Longer values are not given back (protocol: at most 1,024 characters).
const CLIENT_REQUEST_ID_BYTES_MAX: usize = 1024;

/// From here on XML errors name their code in a header too (recording
/// gostorage--StorageTableSuite_TestSetPermissionsUnsuccessfully lacks it).
const ERROR_CODE_HEADER: Version = Version::from_date(20_170_729);

/// A request being answered: its head, and what was learned of it so far. An error is written in the form that was asked
/// for as far as it was understood.
#[derive(Debug, Clone)]
pub(super) struct Call<'r> {
    pub(super) front: &'r Front,
    pub(super) head: &'r Parts,
    pub(super) caller: Caller,
    pub(super) request_id: GuidText,
    pub(super) version: Option<Version>,
    /// What `x-ms-version` of the answer says: the request's version, wherever it stood.
    pub(super) version_text: Option<HeaderValue>,
    pub(super) operation: Option<Operation>,
    pub(super) level: MetadataLevel,
    pub(super) prefer: Option<Prefer>,
    /// Bytes of the body, once it was read.
    pub(super) bytes_in: u64,
    /// Whether the table service was asked: from then on a write may happen.
    pub(super) is_executing: bool,
}

/// What is asked, once the credentials are good.
#[derive(Debug)]
pub(super) struct Asked<'r> {
    pub(super) target: Target<'r>,
    pub(super) account: &'r Account,
    pub(super) access: Access,
    pub(super) resource: Resource<'r>,
    pub(super) operation: Operation,
    /// `If-Match`
    pub(super) if_match: Option<&'r str>,
}

impl Asked<'_> {
    /// The account's URL as the client addressed it.
    pub(super) fn base(&self, front: &Front) -> String {
        let mut base = String::with_capacity(64);
        self.target.write_base(front.scheme(), &mut base);
        base
    }

    /// The form of entities in the answer.
    pub(super) fn entity_format<'a>(
        &'a self,
        level: MetadataLevel,
        base: &'a str,
        table: &'a Table,
        select: Option<&'a Select>,
    ) -> EntityFormat<'a> {
        EntityFormat {
            level,
            base,
            account: self.account.name.as_str(),
            table: &table.name,
            select,
        }
    }

    /// The name of the table that the resource is about; empty where there is none.
    pub(super) fn table(&self) -> &str {
        self.resource.table().unwrap_or_default()
    }
}

impl<'r> Call<'r> {
    pub(super) fn new(front: &'r Front, head: &'r Parts, peer: Option<IpAddr>) -> Self {
        let now = DateTime::from_system(front.clock().now());
        Self {
            front,
            head,
            caller: Caller {
                now,
                address: peer,
                https: front.is_https(),
            },
            request_id: Guid(partita_rt::random::guid()).text(),
            version: None,
            version_text: None,
            operation: None,
            level: MetadataLevel::Minimal,
            prefer: None,
            bytes_in: 0,
            is_executing: false,
        }
    }

    /// The value of a header that is text; the first one where there are several. One that cannot be read counts as absent, so
    /// this is for headers that only shape the answer: see [`Self::decisive_header`] and [`Self::if_match`] for others.
    pub(super) fn header(&self, name: &HeaderName) -> Option<&'r str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// The value of a header whose presence counts. One that cannot be read is empty, and refused as such: taken for absent, it
    /// would let other credentials count.
    pub(super) fn decisive_header(&self, name: &HeaderName) -> Option<&'r str> {
        let value = self.head.headers.get(name)?;
        Some(value.to_str().unwrap_or_default())
    }

    /// The value of `If-Match`. A write without a condition is unconditional, so a condition that cannot be understood must not
    /// count as none, nor the first of two for both.
    ///
    /// # Errors
    /// 400 InvalidInput for a value that is no text, and for several that differ.
    pub(super) fn if_match(&self) -> Result<Option<&'r str>, Failure> {
        let values = self.head.headers.get_all(header::IF_MATCH);
        let mut others = values.iter();
        let Some(first) = others.next() else {
            return Ok(None);
        };
        match first.to_str() {
            Ok(text) if others.all(|other| other == first) => Ok(Some(text)),
            _ => {
                let sent: Vec<_> = values
                    .iter()
                    .map(|value| String::from_utf8_lossy(value.as_bytes()))
                    .collect();
                Err(failure::malformed_etag(&sent.join(",")))
            }
        }
    }

    pub(super) fn occurrence(&self) -> Occurrence<'_> {
        Occurrence {
            request_id: &self.request_id,
            time: self.caller.now,
            batch_index: None,
        }
    }

    /// The answer to a request that is refused.
    pub(super) fn refuse(&self, failure: &Failure) -> Reply {
        let status =
            StatusCode::from_u16(failure.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut body = Vec::with_capacity(512);
        let mut reply = match error_form(failure, self.operation) {
            BodyForm::Json => {
                write_error_json(failure, &self.occurrence(), &mut body);
                let mut reply = Reply::of_tables(status);
                if is_bare(failure) {
                    reply.headers.remove(header::CACHE_CONTROL);
                }
                reply.body(self.level.content_type(), body)
            }
            BodyForm::Xml => {
                write_error_xml(failure, &self.occurrence(), &mut body);
                let reply = Reply::new(status).body("application/xml", body);
                if self
                    .version
                    .is_none_or(|version| version >= ERROR_CODE_HEADER)
                {
                    reply.header(X_MS_ERROR_CODE, failure.code.name())
                } else {
                    reply
                }
            }
        };
        if failure.status() == 401 {
            reply
                .headers
                .insert(header::WWW_AUTHENTICATE, self.front.challenge().clone());
        }
        if matches!(
            failure.code,
            ErrorCode::ServerBusy | ErrorCode::OperationTimedOut
        ) {
            let seconds = HeaderValue::from(failure.retry_after_s);
            reply.headers.insert(header::RETRY_AFTER, seconds);
        }
        if let Some(reason) = failure.reason {
            reply
                .headers
                .insert(X_PARTITA_REASON, HeaderValue::from_static(reason));
        }
        if let Some(allow) = failure.allow {
            reply
                .headers
                .insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        reply.code = Some(failure.code);
        reply.busy = failure.reason;
        reply
    }

    /// What every answer carries.
    pub(super) fn complete(&self, mut reply: Reply) -> Reply {
        let headers = &mut reply.headers;
        headers.insert(header::SERVER, SERVER);
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            headers.insert(X_MS_REQUEST_ID, id);
        }
        if let Some(version) = &self.version_text {
            headers.insert(X_MS_VERSION, version.clone());
        }
        let echoes = self
            .version
            .is_none_or(|version| version >= Version::CLIENT_REQUEST_ID);
        if let Some(id) = self.head.headers.get(&X_MS_CLIENT_REQUEST_ID)
            && echoes
            && id.len() <= CLIENT_REQUEST_ID_BYTES_MAX
        {
            headers.insert(X_MS_CLIENT_REQUEST_ID, id.clone());
        }
        if let Some(prefer) = self.prefer
            && self.applies_preference(reply.status)
        {
            headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(prefer.text()));
        }
        if !self.wants_close() {
            // Node's servers say both, and old clients count on them.
            headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
            headers.insert(KEEP_ALIVE, self.front.keep_alive().clone());
        }
        reply
    }

    /// Whether the client will close the connection after this answer.
    fn wants_close(&self) -> bool {
        let close = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"close");
        self.head.headers.get(header::CONNECTION).is_some_and(close)
    }

    /// A preference is confirmed on success, and on errors of POST (recordings
    /// cosmosdbpython--test_table_test_create_table_with_already_existing_table, gostorage--StorageEntitySuite_TestMerge).
    fn applies_preference(&self, status: StatusCode) -> bool {
        match self.operation {
            Some(Operation::InsertEntity | Operation::CreateTable) => {
                status.is_success() || matches!(status.as_u16(), 400 | 404 | 409)
            }
            Some(
                Operation::UpdateEntity
                | Operation::MergeEntity
                | Operation::InsertOrReplaceEntity
                | Operation::InsertOrMergeEntity,
            ) => status.is_success(),
            _ => false,
        }
    }
}

const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("Partita/", env!("CARGO_PKG_VERSION")));

/// Errors that the service answers before it comes to caching (recordings: an ETag that does not parse, and
/// ConditionNotMet).
fn is_bare(failure: &Failure) -> bool {
    failure.code == ErrorCode::ConditionNotMet || failure::is_malformed_etag(failure)
}
