//! A storage protocol behind a listener: what it does in each step of a request.

use super::Front;
use super::authorized::Authorized;
use super::cors;
use super::refused::Refused;
use super::reply::Reply;
use super::request_head::RequestHead;
use crate::metrics::Operation;
use bytes::Bytes;
use partita_model::{AccountName, SignedIdentifier};
use partita_peer::forward::ServiceId;
use partita_rt::Shutdown;
use partita_service::{Account, AccountProperties};
use partita_wire::{
    Access, AccessRules, AccountKeys, Failure, Method, ServiceKind, ServiceSas, SharedKey, Target,
    VerifiedSas,
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

/// An authorized request of the protocol of `E`.
pub(super) type AuthorizedFor<'r, E> = Authorized<
    'r,
    <<E as Exchange<'r>>::Rules as AccessRules>::Operation,
    <E as Exchange<'r>>::Own,
>;

/// A request that is being answered, with what its protocol does in each step.
pub(super) trait Exchange<'r>: Send + Sync + Sized {
    /// The service, as shared access signatures and tokens name it.
    const SERVICE: ServiceKind;

    /// The service, as servers of a cluster name it.
    const SERVICE_ID: ServiceId;

    /// What the service permits to whom.
    type Rules: AccessRules;

    /// A shared access signature of the service.
    type Sas: ServiceSas<'r> + Send;

    /// What only authorized requests of this protocol have.
    type Own: Send + Sync;

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
    ) -> Result<Access<Self::Rules>, Failure>;

    /// Checks the signature of a shared access signature of the service.
    fn verify_sas(
        target: &Target<'r>,
        account: &Account<AccountKeys>,
        sas: Self::Sas,
    ) -> Result<VerifiedSas<'r, Self::Rules>, Failure>;

    /// Passes the stored access policies of a table or queue to `read`, none if it does not exist. `None` if this server
    /// does not have them.
    fn with_policies<T: Send>(
        &self,
        account: &AccountName,
        container: &str,
        read: impl FnOnce(&[SignedIdentifier]) -> T + Send,
    ) -> impl Future<Output = Result<Option<T>, Refused>> + Send;

    /// Notes that the request is a preflight.
    fn begin_preflight(&mut self);

    /// Finds the operation, and checks that the caller may perform it.
    fn authorize(
        &mut self,
        target: Target<'r>,
        method: Method,
        account: &'r Account<AccountKeys>,
        access: Access<Self::Rules>,
    ) -> Result<AuthorizedFor<'r, Self>, Refused>;

    /// The protocol's limit of the body, where it is lower than that of the settings and the answer names it.
    fn body_bytes_max(_: &AuthorizedFor<'r, Self>) -> Option<usize> {
        None
    }

    /// The key whose server executes the request: it has the row, or the first row of the page, or the catalog.
    ///
    /// # Errors
    /// The table or queue cannot be looked up now.
    fn place(
        &self,
        request: &AuthorizedFor<'r, Self>,
    ) -> impl Future<Output = Result<Bytes, Refused>> + Send;

    /// The key whose server has the catalog, with the policies and properties of the service.
    fn place_of_catalog() -> Bytes;

    /// Whether the body or the answer may be large.
    fn is_bulk(request: &AuthorizedFor<'r, Self>) -> bool;

    /// The shutdown of this server, for a request without a body that waits for data until then. `None` for a request
    /// that does not wait.
    fn wait_end(&self, _: &AuthorizedFor<'r, Self>) -> Option<Shutdown> {
        None
    }

    /// Performs the operation.
    fn run(&self, request: &AuthorizedFor<'r, Self>) -> impl Future<Output = Outcome> + Send;

    /// The properties of the service, with its CORS rules.
    ///
    /// # Errors
    /// This server does not have them.
    fn properties(&self) -> Result<AccountProperties<'_>, Refused>;

    /// The answer to a refused request.
    fn refuse(&self, failure: &Failure) -> Reply;

    /// Answers a preflight, which has no credentials.
    fn preflight(&self, target: &Target<'_>) -> impl Future<Output = Outcome> + Send {
        async {
            let account = cors::account(self.head(), target)?;
            let properties = self.properties()?.get(&account.name).await?;
            Ok(cors::preflight(self.head(), &properties.cors)?)
        }
    }

    /// Adds the headers of every answer.
    fn complete(&self, reply: Reply) -> Reply {
        self.head().complete(reply, None)
    }
}
