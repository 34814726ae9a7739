//! A storage protocol behind a listener: what it does in each step of a request.

use super::Front;
use super::refused::Refused;
use super::reply::Reply;
use super::request_head::RequestHead;
use crate::metrics::Operation;
use bytes::Bytes;
use partita_model::{AccountName, ServiceProperties};
use partita_peer::forward::ServiceId;
use partita_rt::Shutdown;
use partita_service::Account;
use partita_wire::{
    AccountGrant, AccountKeys, Failure, Method, Rights, ServiceKind, ServiceSas, SharedKey, Target,
    TokenRoles,
};

/// Answers the requests of one storage protocol.
pub(super) trait Protocol: Send + Sync + 'static {
    /// Whether answers have the names of metadata as clients spell them.
    const KEEPS_SPELLINGS: bool;

    /// The parts shared with other protocols.
    fn front(&self) -> &Front;

    /// A request that is being answered.
    type Exchange<'r>: Exchange<'r>;

    /// Begins to answer a request.
    fn begin<'r>(&'r self, head: RequestHead<'r>) -> Self::Exchange<'r>;
}

/// The reply of an operation, or why it is refused.
pub(super) type Outcome = Result<Reply, Refused>;

/// A request that is being answered, with what its protocol does in each step.
pub(super) trait Exchange<'r>: Send + Sync {
    /// The service, as shared access signatures and tokens name it.
    const SERVICE: ServiceKind;

    /// The service, as servers of a cluster name it.
    const SERVICE_ID: ServiceId;

    /// The rights that verified credentials grant.
    type Access: Send;

    /// A shared access signature of the service.
    type Sas: ServiceSas<'r> + Send;

    /// A request whose credentials permit its operation.
    type Authorized: Send + Sync;

    /// The head of the request.
    fn head(&self) -> &RequestHead<'r>;

    /// The head, for parsing more of it.
    fn head_mut(&mut self) -> &mut RequestHead<'r>;

    /// The operation, as far as it is known.
    fn operation(&self) -> Operation;

    /// The rights of a request that is signed with a key of the account.
    fn verify_key(
        &self,
        target: &Target<'r>,
        shared_key: &SharedKey<'_>,
        keys: &AccountKeys,
    ) -> Result<Self::Access, Failure>;

    /// The rights of a shared access signature of the service; `None` if they depend on a stored access policy that this
    /// server does not have.
    fn verify_sas(
        &self,
        target: &Target<'r>,
        account: &Account<AccountKeys>,
        sas: Self::Sas,
    ) -> impl Future<Output = Result<Option<Self::Access>, Refused>> + Send;

    /// The rights of a verified account SAS.
    fn account_access(grant: AccountGrant) -> Self::Access;

    /// The rights of a verified bearer token.
    fn token_access(roles: &TokenRoles) -> Result<Self::Access, Failure>;

    /// Rights as plain values, for another server of the cluster.
    fn rights(access: &Self::Access) -> Rights;

    /// The rights that another server has verified; `None` for roles that do not exist.
    fn access_of(rights: Rights) -> Option<Self::Access>;

    /// Notes that the request is a preflight.
    fn begin_preflight(&mut self);

    /// Answers a preflight, which has no credentials.
    fn preflight(&self, target: &Target<'_>) -> impl Future<Output = Outcome> + Send;

    /// Finds the operation, and checks that the caller may perform it.
    fn authorize(
        &mut self,
        target: Target<'r>,
        method: Method,
        account: &'r Account<AccountKeys>,
        access: Self::Access,
    ) -> Result<Self::Authorized, Refused>;

    /// The protocol's limit of the body, where it is lower than that of the settings and the answer names it.
    fn body_bytes_max(_: &Self::Authorized) -> Option<usize> {
        None
    }

    /// Gives a request its body, after it was read.
    fn set_body(request: &mut Self::Authorized, body: Bytes);

    /// The account.
    fn account<'a>(request: &'a Self::Authorized) -> &'a str
    where
        'r: 'a;

    /// The body.
    fn body(request: &Self::Authorized) -> &Bytes;

    /// The key whose server executes the request: it has the row, or the first row of the page, or the catalog.
    ///
    /// # Errors
    /// The table or queue cannot be looked up now.
    fn place(
        &self,
        request: &Self::Authorized,
    ) -> impl Future<Output = Result<Bytes, Refused>> + Send;

    /// The key whose server has the catalog, with the policies and properties of the service.
    fn place_of_catalog() -> Bytes;

    /// Whether the body or the answer may be large.
    fn is_bulk(request: &Self::Authorized) -> bool;

    /// The reply to a request that waits for data at another server, once this server shuts down. `None` for a request
    /// that does not wait.
    fn ended_wait(&self, _: &Self::Authorized) -> Option<(Shutdown, Reply)> {
        None
    }

    /// Performs the operation.
    fn run(&self, request: &Self::Authorized) -> impl Future<Output = Outcome> + Send;

    /// Whether the operation can change data.
    fn is_write(request: &Self::Authorized) -> bool;

    /// The properties of the service in an account, with its CORS rules.
    fn service_properties(
        &self,
        account: &AccountName,
    ) -> impl Future<Output = Result<ServiceProperties, Refused>> + Send;

    /// The answer to a refused request.
    fn refuse(&self, failure: &Failure) -> Reply;

    /// Adds the headers of every answer.
    fn complete(&self, reply: Reply) -> Reply {
        self.head().complete(reply, None)
    }
}
