//! One request to the Table service, from its head to its answer: the parts that only this protocol has.

use super::super::protocol::{Exchange, Protocol};
use super::super::reply::Reply;
use super::super::request_head::RequestHead;
use super::authenticate;
use super::call::{AuthorizedRequest, Call, TableRequest};
use super::headers::{PREFER, X_HTTP_METHOD};
use super::{Outcome, Refused, TableFront};
use crate::front::Front;
use crate::metrics;
use bytes::Bytes;
use hyper::header;
use partita_model::{AccountName, SignedIdentifier, TableName};
use partita_peer::forward::ServiceId;
use partita_service::{Account, AccountProperties};
use partita_table::{Error, Service};
use partita_wire::table::{
    Access, MetadataLevel, Operation, Prefer, Resource, TableRules, TableSas, check_content_type,
    tunnelled_method,
};
use partita_wire::{
    AccountKeys, Failure, Method, ServiceKind, SharedKey, Target, VerifiedSas, Version,
};

impl Protocol for TableFront {
    const KEEPS_SPELLINGS: bool = false;

    type Exchange<'r> = Call<'r>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn begin<'r>(&'r self, head: RequestHead<'r>) -> Call<'r> {
        Call::new(self, head)
    }
}

impl<'r> Exchange<'r> for Call<'r> {
    const SERVICE: ServiceKind = ServiceKind::Table;
    const SERVICE_ID: ServiceId = ServiceId::Table;

    type Rules = TableRules;
    type Sas = TableSas<'r>;
    type Own = TableRequest<'r>;

    fn head(&self) -> &RequestHead<'r> {
        &self.head
    }

    fn head_mut(&mut self) -> &mut RequestHead<'r> {
        &mut self.head
    }

    fn operation(&self) -> metrics::Operation {
        metrics::Operation::Table(self.operation)
    }

    fn verify_key(
        &self,
        target: &Target<'r>,
        shared_key: &SharedKey<'_>,
        keys: &AccountKeys,
    ) -> Result<Access, Failure> {
        authenticate::by_key(self, target, shared_key, keys)
    }

    fn verify_sas(
        _: &Target<'r>,
        account: &Account<AccountKeys>,
        sas: TableSas<'r>,
    ) -> Result<VerifiedSas<'r, TableRules>, Failure> {
        sas.verify(account.name.as_str(), &account.keys)
    }

    async fn with_policies<T: Send>(
        &self,
        account: &AccountName,
        table: &str,
        read: impl FnOnce(&[SignedIdentifier]) -> T + Send,
    ) -> Result<Option<T>, Refused> {
        let Ok(name) = TableName::new(table) else {
            return Ok(Some(read(&[])));
        };
        let Some(service) = self.service_here() else {
            return Ok(None);
        };
        match service.table(account, &name).await {
            Ok(table) => Ok(Some(read(&table.policies))),
            Err(Error::TableNotFound) => Ok(Some(read(&[]))),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_preflight(&mut self) {
        self.operation = Some(Operation::Preflight);
    }

    fn authorize(
        &mut self,
        target: Target<'r>,
        sent: Method,
        account: &'r Account<AccountKeys>,
        access: Access,
    ) -> Result<AuthorizedRequest<'r>, Refused> {
        let resource = Resource::of(&target)?;
        resource.check_table()?;
        let tunnelled = self.head.parts.headers.get_all(&X_HTTP_METHOD).iter();
        // An unreadable value is refused as an invalid verb: if it were ignored, the request would run as a POST.
        let tunnelled = tunnelled.map(|value| value.to_str().unwrap_or_default());
        let method = tunnelled_method(sent, tunnelled)?;
        let if_match = self.if_match();
        let has_if_match = !matches!(if_match, Ok(None));
        let operation = Operation::of(&target, method, &resource, has_if_match)?;
        self.operation = Some(operation);
        access.check(operation, resource.table())?;
        if matches!(operation, Operation::InsertEntity | Operation::CreateTable) {
            check_content_type(self.head.header(&header::CONTENT_TYPE))?;
        }
        let if_match = if_match?;
        if !operation.answers_xml() {
            self.prefer = self.head.header(&PREFER).and_then(Prefer::parse);
            let format = target.query.get("$format")?;
            let version = self.head.version.unwrap_or(Version::CLIENT_REQUEST_ID);
            // The answer to a batch is always multipart. Its parts have their own Accept headers.
            if operation != Operation::EntityGroupTransaction {
                let accept = self.head.header(&header::ACCEPT);
                self.level = MetadataLevel::choose(accept, format.as_deref(), version)?;
            }
        }
        Ok(AuthorizedRequest {
            target,
            account,
            operation,
            body: Bytes::new(),
            own: TableRequest {
                access,
                resource,
                if_match,
            },
        })
    }

    async fn place(&self, request: &AuthorizedRequest<'r>) -> Result<Bytes, Refused> {
        super::place::of_request(self, request).await
    }

    fn place_of_catalog() -> Bytes {
        Service::place_of_catalog()
    }

    fn is_bulk(request: &AuthorizedRequest<'r>) -> bool {
        matches!(
            request.operation,
            Operation::EntityGroupTransaction | Operation::QueryEntities | Operation::QueryTables
        )
    }

    async fn run(&self, request: &AuthorizedRequest<'r>) -> Outcome {
        super::run(self, request).await
    }

    fn properties(&self) -> Result<AccountProperties<'_>, Refused> {
        Ok(self.service()?.properties())
    }

    fn refuse(&self, failure: &Failure) -> Reply {
        self.refusal(failure)
    }

    fn complete(&self, reply: Reply) -> Reply {
        let applied = self.applied_preference(reply.status);
        self.head.complete(reply, applied)
    }
}
