//! A request to the Table service while it is answered.

use super::super::authorized::Authorized;
use super::super::refused::not_served;
use super::super::reply::Reply;
use super::super::request_head::RequestHead;
use super::headers::PREFERENCE_APPLIED;
use super::{Refused, TableFront, failure};
use hyper::header::HeaderName;
use hyper::{StatusCode, header};
use partita_model::TableName;
use partita_table::{Error, Service, Table};
use partita_wire::table::{
    Access, BodyForm, EntityFormat, MetadataLevel, Operation, Prefer, Resource, Select,
    asks_for_json, error_form, write_error_json, write_error_xml,
};
use partita_wire::{Failure, Version};

/// A request that is being answered, with the parts parsed so far. They determine the format of an error.
#[derive(Debug, Clone)]
pub(in crate::front) struct Call<'r> {
    pub(super) head: RequestHead<'r>,
    pub(super) table: &'r TableFront,
    pub(super) operation: Option<Operation>,
    pub(super) level: MetadataLevel,
    pub(super) prefer: Option<Prefer>,
}

/// A request whose credentials permit its operation.
pub(in crate::front) type AuthorizedRequest<'r> = Authorized<'r, Operation, TableRequest<'r>>;

/// What only requests of tables have.
#[derive(Debug)]
pub(in crate::front) struct TableRequest<'r> {
    pub(super) access: Access,
    pub(super) resource: Resource<'r>,
    /// `If-Match`
    pub(super) if_match: Option<&'r str>,
}

impl AuthorizedRequest<'_> {
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

    /// The table's name in the path; empty if the path has no table.
    pub(super) fn table(&self) -> &str {
        self.own.resource.table().unwrap_or_default()
    }

    /// The name of the table of an operation on tables. A path with an invalid name was refused before, except for the
    /// names of the service's own tables, which do not exist.
    pub(super) fn table_name(&self) -> Result<TableName, Refused> {
        Ok(TableName::new(self.table()).map_err(|_| Error::TableNotFound)?)
    }
}

impl<'r> Call<'r> {
    pub(super) fn new(table: &'r TableFront, head: RequestHead<'r>) -> Self {
        Self {
            head,
            table,
            operation: None,
            level: MetadataLevel::Minimal,
            prefer: None,
        }
    }

    /// The service, if this server has the data of the request.
    pub(super) fn service_here(&self) -> Option<&Service> {
        self.head
            .service(&self.table.service, |store| &store.tables)
    }

    /// The service.
    ///
    /// # Errors
    /// 503 if this server does not have the data: requests are routed before they are executed.
    pub(super) fn service(&self) -> Result<&Service, Refused> {
        Ok(self.service_here().ok_or_else(not_served)?)
    }

    /// The value of `If-Match`. A write without a condition is unconditional. So an unreadable condition must not count
    /// as absent, and of two different conditions none may be ignored.
    ///
    /// # Errors
    /// 400 InvalidInput for a value that is not text, and for several values that differ.
    pub(super) fn if_match(&self) -> Result<Option<&'r str>, Failure> {
        let values = self.head.parts.headers.get_all(header::IF_MATCH);
        let mut others = values.iter();
        let Some(first) = others.next() else {
            return Ok(None);
        };
        match first.to_str() {
            Ok(text) if others.all(|other| other == first) => Ok(Some(text)),
            _ => {
                let texts = values.iter();
                let texts = texts.map(|value| String::from_utf8_lossy(value.as_bytes()));
                let texts: Vec<_> = texts.collect();
                Err(failure::malformed_etag(&texts.join(",")))
            }
        }
    }

    /// The answer to a refused request.
    pub(super) fn refusal(&self, failure: &Failure) -> Reply {
        let status = StatusCode::from_u16(failure.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut body = Vec::with_capacity(512);
        let form = error_form(failure, self.operation, || self.asks_for_json());
        match form {
            BodyForm::Json | BodyForm::PlainJson => {
                write_error_json(failure, &self.head.occurrence(), &mut body);
            }
            BodyForm::Xml => write_error_xml(failure, &self.head.occurrence(), &mut body),
        }
        let mut reply = match form {
            BodyForm::Json => {
                let mut reply = Reply::uncached(status);
                if failure::lacks_cache_control(failure) {
                    reply.headers.remove(header::CACHE_CONTROL);
                }
                reply.body(self.level.content_type(), body)
            }
            BodyForm::PlainJson => self
                .head
                .with_error_code(failure, Reply::new(status).body("application/json", body)),
            BodyForm::Xml => self
                .head
                .with_error_code(failure, Reply::new(status).body("application/xml", body)),
        };
        self.head.add_failure(failure, &mut reply);
        reply
    }

    /// Whether a refusal before the operation is answered in JSON. The version must be known, and have JSON.
    fn asks_for_json(&self) -> bool {
        let has_json = |version| version >= Version::JSON;
        self.head.version.is_some_and(has_json)
            && self
                .head
                .target()
                .is_ok_and(|target| asks_for_json(&target, self.head.header(&header::ACCEPT)))
    }

    /// The header that confirms the preference of the request.
    pub(super) fn applied_preference(
        &self,
        status: StatusCode,
    ) -> Option<(HeaderName, &'static str)> {
        let applied = self.prefer.filter(|_| self.applies_preference(status));
        applied.map(|prefer| (PREFERENCE_APPLIED, prefer.text()))
    }

    /// Whether the answer confirms the preference of the request: on success, and on 400 and 409 of Insert Entity and
    /// Create Table (recordings cosmosdbpython--test_table_test_create_table_with_already_existing_table,
    /// gostorage--StorageEntitySuite_TestMerge), but not on 404 TableNotFound (recording
    /// python--test_table_batch_test_new_non_existent_table, inside a batch).
    fn applies_preference(&self, status: StatusCode) -> bool {
        match self.operation {
            Some(Operation::InsertEntity | Operation::CreateTable) => {
                status.is_success() || matches!(status.as_u16(), 400 | 409)
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
